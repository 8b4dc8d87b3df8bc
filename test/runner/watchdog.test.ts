import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { processTreeOfProc } from '../../process/process-tree.ts';
import { eventually } from '../eventually.ts';

const started: ChildProcess[] = [];
afterAll(() => {
  for (const child of started) child.kill('SIGKILL');
});

/** A server that answers after `lateMs`, with a watchdog. */
async function startWatched(lateMs: number) {
  const child = spawn(process.execPath, ['test/runner/watched.ts', String(lateMs)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  started.push(child);
  const exited = once(child, 'exit');
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const [port] = await once(child.stdout.setEncoding('utf8'), 'data');
  const pid = child.pid ?? 0;
  const others = () => (processTreeOfProc(pid) ?? []).filter(each => each.pid !== pid).map(each => each.pid);
  const [watchdog = 0] = await eventually('its watchdog', () => others().length > 0 && others());
  return { child, exited, url: `http://127.0.0.1:${Number(port)}`, log: () => log, watchdog };
}

const isGone = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
};

it.concurrent('a runner that does not answer is killed within 22 s, and its last line says why', async () => {
  const { child, exited, log } = await startWatched(0);
  const sinceMs = performance.now();
  child.kill('SIGSTOP');
  expect(await exited).toEqual([null, 'SIGKILL']);
  expect(performance.now() - sinceMs).toBeLessThan(22_000);
  const { why } = JSON.parse(log().trim().split('\n').at(-1) ?? '');
  expect(why).toMatch(/^it had not answered over HTTP for \d+ s$/);
});

it.concurrent('a runner that answers late, or not for a while, is left alone', async () => {
  const { child, url, log } = await startWatched(2_500);
  await fetch(`${url}/?hold=7000`); // of four answers in a row, at most two are too late
  await delay(12_000); // longer than four late answers take
  expect({ exitCode: child.exitCode, signal: child.signalCode, log: log() }).toEqual({
    exitCode: null,
    signal: null,
    log: '',
  });
});

it.concurrent('ends with its runner', async () => {
  const { child, exited, watchdog } = await startWatched(0);
  child.kill('SIGTERM');
  await exited;
  await eventually('the end of the watchdog', () => isGone(watchdog));
});
