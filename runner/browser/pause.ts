import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { processTreeOfProc } from '../../process/process-tree.ts';

/**
 * Stops all processes of a browser, so that they use no processor time and write to no file, and lets them go on. Pages, their
 * connections and the pipe to this process survive it; time goes on without them.
 */
export interface Pause {
  /** Resolves when every process has stopped. The holder lets it go; the browser goes on when nothing holds it any more. */
  hold(): Promise<void>;
  letGo(): void;
  isHeld(): boolean;
}

const LOOK_MS = 5;
/** A process in a system call that cannot be interrupted stops after it. */
const STOP_MS = 1_000;

/** `pid` is that of the browser's process group too. */
export function browserPause(pid: () => number | undefined): Pause {
  let holders = 0;
  const signal = (name: 'SIGSTOP' | 'SIGCONT') => {
    const group = pid();
    if (group === undefined) return;
    try {
      process.kill(-group, name);
    } catch {
      // it has ended
    }
  };
  return {
    async hold() {
      holders += 1;
      if (holders === 1) signal('SIGSTOP');
      for (let waitedMs = 0; waitedMs < STOP_MS && !hasStopped(pid()); waitedMs += LOOK_MS) await delay(LOOK_MS);
    },
    letGo() {
      holders -= 1;
      if (holders === 0) signal('SIGCONT');
    },
    isHeld: () => holders > 0,
  };
}

/** On systems without /proc the signal is trusted. */
function hasStopped(pid: number | undefined): boolean {
  const tree = pid === undefined ? [] : (processTreeOfProc(pid) ?? []);
  return tree.every(each => {
    try {
      return /^\S+ \(.*\) [TZX]/s.test(readFileSync(`/proc/${each.pid}/stat`, 'utf8'));
    } catch {
      return true; // it has ended
    }
  });
}
