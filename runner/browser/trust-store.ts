import { execFile } from 'node:child_process';
import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Authority } from '../../contract/authorities.ts';
import { ENV } from '../../contract/names.ts';
import { OmicronError } from '../../contract/problem.ts';
import { commandPath } from './browser-path.ts';

const run = promisify(execFile);

/** Authorities that the browsers of this runner trust beside their own roots. */
export interface TrustStore {
  /**
   * Puts the authorities where a browser with this home finds them when it starts. Throws `runner_start_failed` where that cannot be
   * done; another call tries again.
   */
  putInto(home: string): Promise<void>;
}

/** The folder of Chromium on Linux: GetDefaultConfigDirectory in crypto/nss_util.cc. */
const DATABASE = join('.pki', 'nssdb');
const FILES = ['cert9.db', 'key4.db'];
const CERTUTIL = 'certutil';
/** An authority of servers, not of mail or code: `certutil -A`, trust arguments. */
const OF_SERVERS = 'C,,';

/** Why this machine cannot give authorities to browsers, and what to do; undefined: it can. */
export function trustStoreProblem(
  searchPath: string,
  platform: NodeJS.Platform = process.platform,
): string | undefined {
  if (platform !== 'linux')
    return `${ENV.chromiumCa} is for browsers on Linux: here, unset it and add the authority to the trusted ones of the system.`;
  if (commandPath(CERTUTIL, searchPath) === undefined)
    return `${ENV.chromiumCa} needs ${CERTUTIL}, which is not on the PATH: install libnss3-tools (Debian, Ubuntu) or nss-tools (Fedora).`;
  return undefined;
}

/**
 * An NSS database, made once in `folder`, which the first call makes too; each browser gets a copy in its own home, which no profile
 * keeps. NSS opens none that the browser's user may not write: the launcher gives the home to that user.
 */
export function createTrustStore(authorities: readonly Authority[], folder: string, searchPath: string): TrustStore {
  let made: Promise<void> | undefined;
  const make = async () => {
    const problem = trustStoreProblem(searchPath);
    if (problem !== undefined) throw new OmicronError('runner_start_failed', problem);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const certutil = commandPath(CERTUTIL, searchPath) ?? CERTUTIL;
    const call = async (input: string, ...args: string[]) => {
      const running = run(certutil, [...args, '-d', `sql:${folder}`], { timeout: 20_000 });
      running.child.stdin?.end(input);
      await running;
    };
    try {
      await call('', '-N', '--empty-password');
      for (const [index, { pem }] of authorities.entries())
        await call(pem, '-A', '-a', '-t', OF_SERVERS, '-n', `authority-${index}`);
    } catch (cause) {
      throw new OmicronError('runner_start_failed', `${CERTUTIL} does not take the authorities of ${ENV.chromiumCa}.`, {
        cause,
      });
    }
  };
  return {
    async putInto(home) {
      made ??= make().catch((error: unknown) => {
        made = undefined;
        throw error;
      });
      await made;
      const database = join(home, DATABASE);
      await mkdir(database, { recursive: true, mode: 0o700 });
      for (const file of FILES) await copyFile(join(folder, file), join(database, file));
    },
  };
}
