import { type ChildProcess, fork } from 'node:child_process';
import type { RunnerProvider } from '../../controller/ports/runners.ts';
import type { fakeMachine } from '../fakes/runners.ts';
import type { FromController, ToController } from './controller-process.ts';

const PROGRAM = new URL('controller-process.ts', import.meta.url);

/** A controller in a process of its own. */
export interface Killable {
  readonly child: ChildProcess;
  url: string;
  readonly listening: Promise<string>;
  readonly exited: Promise<void>;
  isOver: boolean;
  tell(message: ToController): void;
}

/** Starts one, whose runners are on this machine. Runners and platforms reach it at `address`, which others share. */
export function startKillable(
  environment: Record<string, unknown>,
  machine: ReturnType<typeof fakeMachine>,
  address: string,
  others: () => readonly Killable[],
): Killable {
  const child = fork(PROGRAM, { stdio: ['ignore', 'ignore', 'ignore', 'ipc'], serialization: 'advanced' });
  const { promise: listening, resolve, reject } = Promise.withResolvers<string>();
  listening.catch(() => {}); // the one that enters it sees it
  const exited = new Promise<void>(gone => child.once('exit', () => gone()));
  const killable: Killable = {
    child,
    url: '',
    listening,
    exited,
    isOver: false,
    tell: message => void (child.connected && child.send(message, () => {})),
  };
  void exited.then(() => {
    killable.isOver = true;
    reject(new Error('a controller ended before it listened'));
  });
  let provider: RunnerProvider | undefined;
  child.on('message', (message: FromController) => {
    if (message.kind === 'listening') resolve(message.url);
    if (message.kind === 'jwks')
      provider = machine.provider({
        controllerUrl: Promise.resolve(address),
        jwks: message.jwks,
        onChange: runnerId => {
          for (const other of others()) other.tell({ kind: 'changed', runnerId });
        },
      }) as RunnerProvider;
    if (message.kind !== 'call' || provider === undefined) return;
    const { id, method, args } = message;
    void callProvider(provider, method, String(args[0]), exited).then(
      value => killable.tell({ kind: 'answer', id, value }),
      ({ code, message: text }) =>
        killable.tell({ kind: 'answer', id, error: { code: code ?? 'runner_start_failed', message: text } }),
    );
  });
  killable.tell({ kind: 'start', environment });
  return killable;
}

function callProvider(provider: RunnerProvider, method: string, id: string, exited: Promise<void>): Promise<unknown> {
  if (method === 'create') return provider.create(id, new AbortController().signal);
  if (method === 'deathOf') return provider.deathOf(id);
  if (method === 'remove') return provider.remove(id);
  if (method === 'list') return provider.list();
  const over = new AbortController();
  void exited.then(() => over.abort());
  return provider.whenWarm(id, over.signal);
}
