import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { pythonOf } from '../../local/test-tools.ts';
import { ROOT } from '../local/machine.ts';
import type { AnyClient, CallAnswer, McpAddress } from './any-client.ts';

export type PythonKind = 'mcp_1' | 'mcp_2' | 'mcp_2_legacy' | 'mcp_2_person' | 'agents';

export interface PythonClient extends AnyClient {
  /** Addresses that its person was sent to; of `mcp_2_person` only. */
  readonly opened: readonly string[];
}

const PROGRAM = fileURLToPath(new URL('mcp-client.py', import.meta.url));

/** A client of Python, in a process of its own. Rejects with what it wrote when it cannot connect. */
export async function pythonClient(kind: PythonKind, { mcpUrl, headers }: McpAddress): Promise<PythonClient> {
  const python = pythonOf(ROOT, kind === 'mcp_1' ? 'python_mcp_1' : 'python_mcp_2');
  const child = spawn(python, [PROGRAM, kind, mcpUrl, JSON.stringify(headers)], { env: { PATH: process.env.PATH } });
  const exited = once(child, 'close');
  let written = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    written += text;
  });
  const opened: string[] = [];
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  const answerTo = (id: number): Promise<unknown> => {
    const answer = Promise.withResolvers<unknown>();
    waiting.set(id, answer);
    return answer.promise;
  };
  createInterface(child.stdout).on('line', line => {
    const { id, value, error, opened: address } = JSON.parse(line);
    if (address !== undefined) opened.push(address);
    else if (error === undefined) waiting.get(id)?.resolve(value);
    else waiting.get(id)?.reject(new Error(error));
  });
  void exited.then(() => {
    for (const { reject } of waiting.values()) reject(new Error(`the client exited: ${written}`));
  });
  let last = 0;
  const send = (line: object) => child.stdin.write(`${JSON.stringify(line)}\n`);
  const ask = (command: object): { id: number; answer: Promise<unknown> } => {
    last += 1;
    const answer = answerTo(last);
    send({ id: last, ...command });
    return { id: last, answer };
  };
  // The program answers what these types say.
  const version = (await answerTo(0)) as string;
  return {
    version,
    opened,
    tools: () => ask({ do: 'tools' }).answer as Promise<string[]>,
    call(name, args, signal) {
      const { id, answer } = ask({ do: 'call', name, args });
      signal?.addEventListener('abort', () => send({ id, do: 'cancel' }), { once: true });
      return answer as Promise<CallAnswer>;
    },
    async vanish() {
      child.kill('SIGKILL');
      await exited;
    },
    async close() {
      child.stdin.end();
      await exited;
    },
  };
}
