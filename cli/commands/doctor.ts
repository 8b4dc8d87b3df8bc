import { spawnSync } from 'node:child_process';
import { statfs } from 'node:fs/promises';
import { freemem } from 'node:os';
import { dirname, resolve } from 'node:path';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { type ApiNamespace, ENV } from '../../contract/names.ts';
import { authoritiesProblem, findProblems, findTools, toolsEnvironment } from '../../local/machine-tools.ts';
import { tryRunner } from '../../local/try-runner.ts';
import { type Cli, connectController, findController } from '../connect.ts';
import { errorLine, UsageError } from '../exit.ts';
import { beforeRollout } from './before-rollout.ts';
import type { DoctorCheck } from './check.ts';
import { clusterChecks } from './cluster-checks.ts';

const MIB = 1024 * 1024;
/** An hour of 1080p video is some 300 MiB; the embedded database takes 50. */
const DISK_FREE_BYTES_MIN = 1024 * MIB;
/** One browser with video: some 500 MB. */
const MEMORY_FREE_BYTES_MIN = 600 * MIB;
const RUNNER_SECONDS = 30;

interface DoctorOptions {
  cluster?: boolean;
  /** The treatment of the platform's namespace by the rollout. */
  before?: ApiNamespace;
  /** A user whose credentials are checked too. */
  user?: string;
}

/**
 * `doctor`: checks this machine, or with `cluster` the cluster of KUBECONFIG, or with `before` what a rollout would cut off there.
 * Each line is ok, or a problem and its remedy.
 */
export async function doctor(cli: Cli, { cluster = false, before, user }: DoctorOptions = {}): Promise<boolean> {
  if (before !== undefined && !cluster) throw new UsageError('--before is a check of the cluster: add --cluster.');
  const checks =
    before !== undefined
      ? await beforeRollout(cli.environment, before)
      : cluster
        ? await clusterChecks(cli.environment)
        : [...(await machineChecks(cli)), ...(user === undefined ? [] : [await checkCredentials(cli, user)])];
  const ok = checks.every(check => check.ok);
  cli.out.rows(
    { ok, checks },
    ['CHECK', 'RESULT', 'DETAIL'],
    checks.map(({ check, ok, detail }) => [check, ok ? 'ok' : 'PROBLEM', detail]),
  );
  return ok;
}

async function machineChecks(cli: Cli): Promise<DoctorCheck[]> {
  return [
    checkNode(),
    ...browserAndFfmpeg(cli.environment),
    ...checkAuthorities(cli.environment),
    await checkRunner(cli),
    await checkDisk(cli.folder),
    checkMemory(),
    await checkController(cli),
  ];
}

function checkNode(): DoctorCheck {
  const { node: version } = process.versions;
  const ok = Number(version.split('.')[0]) >= 24;
  return {
    check: 'node',
    ok,
    detail: ok ? version : `${version}: Node 24 or newer is needed; run "npm ci", which installs it`,
  };
}

function browserAndFfmpeg(environment: Cli['environment']): DoctorCheck[] {
  const { browser, ffmpeg } = findTools(environment);
  const problems = findProblems(environment);
  const version = (path: string, flag: string) =>
    spawnSync(path, [flag], { encoding: 'utf8', timeout: 20_000 }).stdout?.split('\n')[0]?.trim() ?? '';
  const described = (path: string | undefined, flag: string) =>
    path === undefined ? undefined : `${version(path, flag)} (${path})`;
  return [
    {
      check: 'browser',
      ok: browser !== undefined,
      detail: described(browser, '--version') ?? problems.browser ?? '',
    },
    { check: 'ffmpeg', ok: ffmpeg !== undefined, detail: described(ffmpeg, '-version') ?? problems.ffmpeg ?? '' },
  ];
}

/** Most machines have none. */
function checkAuthorities(environment: Cli['environment']): DoctorCheck[] {
  if (!environment[ENV.chromiumCa]) return [];
  const problem = authoritiesProblem(environment);
  return [{ check: 'authorities', ok: problem === undefined, detail: problem ?? `browsers trust ${ENV.chromiumCa}` }];
}

/** The browser as a runner starts it: process, protocol and sandbox. */
async function checkRunner({ environment }: Cli): Promise<DoctorCheck> {
  const health = await tryRunner({ ...environment, ...toolsEnvironment(findTools(environment)) }, RUNNER_SECONDS);
  if (health.phase === 'silent')
    return { check: 'runner', ok: false, detail: `does not answer; its last output: ${health.output || '(none)'}` };
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

async function checkDisk(folder: string): Promise<DoctorCheck> {
  const path = resolve(folder);
  const { bavail, bsize } = await statfs(path).catch(() => statfs(dirname(path)));
  const free = bavail * bsize;
  const ok = free >= DISK_FREE_BYTES_MIN;
  const detail = `${Math.round(free / MIB)} MiB free for ${folder}`;
  return {
    check: 'disk',
    ok,
    detail: ok ? detail : `${detail}; recordings need ${DISK_FREE_BYTES_MIN / MIB} MiB: free some space`,
  };
}

function checkMemory(): DoctorCheck {
  const free = freemem();
  const ok = free >= MEMORY_FREE_BYTES_MIN;
  const detail = `${Math.round(free / MIB)} MiB free`;
  return { check: 'memory', ok, detail: ok ? detail : `${detail}; a browser that records needs about 500 MB` };
}

/** No controller is no problem: `up` starts one. */
async function checkController(cli: Cli): Promise<DoctorCheck> {
  try {
    const connection = await findController(cli);
    if (!connection)
      return { check: 'controller', ok: true, detail: 'none runs here; "omicron-browser up" starts one' };
    await new BrowserSessions(connection).list({ limit: 1 });
    return { check: 'controller', ok: true, detail: `${connection.url} answers and accepts our tokens` };
  } catch (error) {
    return { check: 'controller', ok: false, detail: errorLine(error) };
  }
}

/** A credential that is filled nowhere looks to its user as if the agent had ignored it. */
async function checkCredentials(cli: Cli, user: string): Promise<DoctorCheck> {
  try {
    const { sites } = await (await connectController(cli)).listCredentials(user);
    const problems = sites.flatMap(({ site, problem }) => (problem === null ? [] : [`${site}: ${problem}`]));
    const detail = problems.length === 0 ? `${sites.length} of ${user}, each filled somewhere` : problems.join('; ');
    return { check: 'credentials', ok: problems.length === 0, detail };
  } catch (error) {
    return { check: 'credentials', ok: false, detail: errorLine(error) };
  }
}
