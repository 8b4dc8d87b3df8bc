import type { ChildProcess } from 'node:child_process';
import { type ChannelListener, channel } from 'node:diagnostics_channel';
import { type Stream, Writable } from 'node:stream';
import { OmicronError } from '../../contract/problem.ts';
import type { EndRecord } from './browser-end.ts';
import type { EventGate } from './event-gate.ts';
import { injectedScript } from './injected-script.ts';
import type { WindowPictures } from './window-pictures.ts';

/** Node publishes every child process there: <https://nodejs.org/api/diagnostics_channel.html#process>. */
const SPAWNED = 'child_process';
/** Chromium reads from its third descriptor, and writes to its fourth, when it is driven over a pipe. */
const WRITE = 3;
const READ = 4;
/** Bytes of a message. */
const END = '\0';

/**
 * Runs `launch`, puts the gate on the pipe by which Playwright reads from the browser that it started, has the browser
 * keep Playwright's script, and its pictures taken by `pictures`. Throws `runner_start_failed` where Playwright holds its pipe in another way: the browser is not
 * driven without the gate.
 */
export async function launchGated<T>(
  executable: string,
  gate: EventGate,
  pictures: WindowPictures,
  onExit: EndRecord['onExit'],
  launch: () => Promise<T>,
): Promise<T> {
  const script = injectedScript();
  let pipe: { read: Stream; write(chunk: string): void } | undefined;
  const onSpawn: ChannelListener = message => {
    const { process } = message as { process: ChildProcess }; // as documented
    // It is published before the process has its streams, and Playwright writes to them later.
    queueMicrotask(() => {
      const [read, out] = [process.stdio[READ], process.stdio[WRITE]];
      if (process.spawnfile !== executable || read == null || !(out instanceof Writable)) return;
      process.once('exit', onExit);
      const write = out.write.bind(out);
      let message = '';
      // Playwright writes a message and its end one after the other: as one, they are one call of the system's, and wake the browser once.
      out.write = (chunk: string) => {
        if (!chunk.endsWith(END)) {
          message += chunk;
          return true;
        }
        const whole = message + chunk.slice(0, -1);
        message = '';
        return write(pictures.send(script.send(whole)) + END);
      };
      pipe = { read, write };
    });
  };
  const spawned = channel(SPAWNED);
  spawned.subscribe(onSpawn);
  const launched = await launch().finally(() => spawned.unsubscribe(onSpawn));
  const [pass, ...others] = pipe?.read.listeners('data') ?? [];
  if (pipe === undefined || pass === undefined || others.length > 0)
    throw new OmicronError('runner_start_failed', "Playwright's pipe to the browser was not found.");
  const { read, write } = pipe;
  read.removeAllListeners('data');
  read.on('data', (chunk: Buffer) =>
    gate.read(chunk, message => {
      for (const part of [pictures, script]) {
        const received = part.receive(message);
        if (received.send !== undefined) write(received.send + END);
        if (!received.pass) return;
      }
      pass.call(read, message);
    }),
  );
  return launched;
}
