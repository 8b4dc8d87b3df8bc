import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BROWSER_PID_FILE, RUNNER_PROFILE_FOLDER } from '../contract/names.ts';

/**
 * Lets the browsers of a runner that was killed go on, by the runner's temporary folder, before that is deleted. A browser ends with
 * its runner, whose pipe it reads, unless it was stopped just then: frozen, or while a profile was saved.
 */
export function letBrowsersEnd(runnerFolder: string): void {
  for (const folder of [runnerFolder, join(runnerFolder, RUNNER_PROFILE_FOLDER)]) {
    try {
      const pid = Number(readFileSync(join(folder, BROWSER_PID_FILE), 'utf8'));
      if (pid > 1) process.kill(-pid, 'SIGCONT');
    } catch {
      // there was none, it has ended, or another has its id by now, and does not notice
    }
  }
}
