import type { ChildProcess } from 'node:child_process';
import { type ChannelListener, channel } from 'node:diagnostics_channel';
import { OmicronError } from '../../contract/problem.ts';
import type { EventGate } from './event-gate.ts';

/** Node publishes every child process there: <https://nodejs.org/api/diagnostics_channel.html#process>. */
const SPAWNED = 'child_process';
/** Chromium writes to its fourth descriptor when it is driven over a pipe. */
const READ = 4;

/**
 * Runs `launch` and puts the gate on the pipe by which Playwright reads from the browser that it started. Throws
 * `runner_start_failed` where Playwright holds its pipe in another way: the browser is not driven without the gate.
 */
export async function launchGated<T>(executable: string, gate: EventGate, launch: () => Promise<T>): Promise<T> {
  const children: ChildProcess[] = [];
  const onSpawn: ChannelListener = message => {
    children.push((message as { process: ChildProcess }).process); // as documented
  };
  const spawned = channel(SPAWNED);
  spawned.subscribe(onSpawn);
  const launched = await launch().finally(() => spawned.unsubscribe(onSpawn));
  const pipe = children.find(({ spawnfile }) => spawnfile === executable)?.stdio[READ];
  const [pass, ...others] = pipe?.listeners('data') ?? [];
  if (pipe == null || pass === undefined || others.length > 0)
    throw new OmicronError('runner_start_failed', "Playwright's pipe to the browser was not found.");
  pipe.removeAllListeners('data');
  pipe.on('data', (chunk: Buffer) => gate.read(chunk, message => pass.call(pipe, message)));
  return launched;
}
