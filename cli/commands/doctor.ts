import { spawnSync } from 'node:child_process';
import { statfs } from 'node:fs/promises';
import { freemem } from 'node:os';
import { dirname, resolve } from 'node:path';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { ENV } from '../../contract/names.ts';
import { findTools, toolsEnvironment } from '../../local/machine-tools.ts';
import { tryRunner } from '../../local/try-runner.ts';
import type { Check } from './check.ts';
import { clusterChecks } from './cluster-checks.ts';
import { type Context, findController } from './connect.ts';
import { errorLine } from './exit.ts';
import type { Output } from './output.ts';

const MIB = 1024 * 1024;
/** An hour of 1080p video is some 300 MiB; the embedded database takes 50. */
const DISK_FREE_BYTES_MIN = 1024 * MIB;
/** One browser with video: some 500 MB. */
const MEMORY_FREE_BYTES_MIN = 600 * MIB;
const RUNNER_SECONDS = 30;

/** `doctor`: what this machine, or with `cluster` that of KUBECONFIG, needs: each line ok, or the problem and what to do. */
export async function doctor(context: Context, out: Output, { cluster = false } = {}): Promise<boolean> {
  const checks = cluster ? await clusterChecks(context.environment) : await machineChecks(context);
  const ok = checks.every(check => check.ok);
  out.rows(
    { ok, checks },
    ['CHECK', 'RESULT', 'DETAIL'],
    checks.map(({ check, ok, detail }) => [check, ok ? 'ok' : 'PROBLEM', detail]),
  );
  return ok;
}

async function machineChecks(context: Context): Promise<Check[]> {
  const tools = findTools(context.environment);
  return [
    node(),
    ...browserAndFfmpeg(tools),
    await runner(context),
    await disk(context.folder),
    memory(),
    await controller(context),
  ];
}

function node(): Check {
  const { node: version } = process.versions;
  const ok = Number(version.split('.')[0]) >= 24;
  return { check: 'node', ok, detail: ok ? version : `${version}: Node 24 is needed; run "npm ci", which brings it` };
}

function browserAndFfmpeg({ browser, ffmpeg }: ReturnType<typeof findTools>): Check[] {
  const version = (path: string, flag: string) =>
    spawnSync(path, [flag], { encoding: 'utf8', timeout: 20_000 }).stdout?.split('\n')[0]?.trim() ?? '';
  const install = 'run "node local/setup.js" in a clone';
  return [
    {
      check: 'browser',
      ok: browser !== undefined,
      detail: browser
        ? `${version(browser, '--version')} (${browser})`
        : `none was found: ${install}, or set ${ENV.chromiumPath}`,
    },
    {
      check: 'ffmpeg',
      ok: ffmpeg !== undefined,
      detail: ffmpeg
        ? `${version(ffmpeg, '-version')} (${ffmpeg})`
        : `none was found, so nothing can be recorded: ${install}, or set ${ENV.ffmpegPath}`,
    },
  ];
}

/** The browser as a runner starts it: process, protocol and sandbox. */
async function runner({ environment }: Context): Promise<Check> {
  const health = await tryRunner({ ...environment, ...toolsEnvironment(findTools(environment)) }, RUNNER_SECONDS);
  if (health.phase === 'silent')
    return { check: 'runner', ok: false, detail: `did not answer; its last output: ${health.output || '(none)'}` };
  const { process: started, protocol } = health.browser;
  const sandbox = environment[ENV.chromiumSandbox] === 'off' ? 'WITHOUT its sandbox' : "in Chromium's sandbox";
  const ok = health.phase === 'warm';
  const gates = `process: ${started.detail}; protocol: ${protocol.detail}`;
  return {
    check: 'runner',
    ok,
    detail: ok
      ? `became warm ${sandbox}; ${protocol.detail}`
      : `${health.error?.code}: ${health.error?.detail} (${gates})`,
  };
}

async function disk(folder: string): Promise<Check> {
  const path = resolve(folder);
  const { bavail, bsize } = await statfs(path).catch(() => statfs(dirname(path)));
  const free = bavail * bsize;
  const ok = free >= DISK_FREE_BYTES_MIN;
  const detail = `${Math.round(free / MIB)} MiB free for ${folder}`;
  return { check: 'disk', ok, detail: ok ? detail : `${detail}: free some; recordings need room` };
}

function memory(): Check {
  const free = freemem();
  const ok = free >= MEMORY_FREE_BYTES_MIN;
  const detail = `${Math.round(free / MIB)} MiB free`;
  return { check: 'memory', ok, detail: ok ? detail : `${detail}: a browser with video takes some 500 MB` };
}

/** No controller is no problem: one is started when it is needed. */
async function controller(context: Context): Promise<Check> {
  try {
    const connection = await findController(context);
    if (!connection)
      return { check: 'controller', ok: true, detail: `none runs here; "omicron-browser up" starts one` };
    await new BrowserSessions(connection).list({ limit: 1 });
    return { check: 'controller', ok: true, detail: `${connection.url} answers and takes our tokens` };
  } catch (error) {
    return { check: 'controller', ok: false, detail: errorLine(error) };
  }
}
