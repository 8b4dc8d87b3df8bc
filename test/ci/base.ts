import { execFileSync } from 'node:child_process';

export const git = (...args: string[]): string =>
  execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });

/** The commit that this submission is compared with: OMICRON_CI_BASE, else where it left the remote's main. Undefined: there is none. */
export function baseOfChange(): string | undefined {
  try {
    const base = process.env.OMICRON_CI_BASE || git('merge-base', 'origin/main', 'HEAD').trim();
    return git('rev-parse', base) === git('rev-parse', 'HEAD') ? undefined : base;
  } catch {
    return undefined; // no remote
  }
}
