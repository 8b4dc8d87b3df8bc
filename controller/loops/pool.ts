import type { Logger } from 'pino';
import { type Backoff, backoffMs } from '../../time/backoff.ts';
import type { Clock } from '../../time/clock.ts';
import type { RunnerProvider } from '../ports/runners.ts';
import type { Fleet } from '../store/fleet.ts';

/** S8: a runner that cannot start is tried again, ever more slowly, down to once a minute. */
const BACKOFF: Backoff = { firstMs: 1_000, maxMs: 60_000, jitter: 0.25 };

export interface PoolParts {
  fleet: Fleet;
  provider: RunnerProvider;
  /** Warm runners to hold at least, and by demand at most; how many may be created in one step beyond the demand. */
  idle: number;
  idleMax: number;
  burst: number;
  onTarget: (warm: number) => void;
  kickLaunch: () => void;
  kickDrain: () => void;
  clock: Clock;
  log: Logger;
}

export interface Pool {
  runOnce(): Promise<void>;
  /** A runner did not start: the next ones wait, and come one at a time. */
  failed(): void;
  /** A runner started: the pool fills at full speed again. */
  succeeded(): void;
}

/** Keeps warm runners. The rows decide, in one transaction; it drains only runners that are unleased. */
export function poolLoop(parts: PoolParts): Pool {
  const { fleet, provider, idle, idleMax, burst, onTarget, kickLaunch, kickDrain, clock, log } = parts;
  let failures = 0;
  let notBeforeMs = 0;
  const wait = () => {
    notBeforeMs = clock.nowMs() + backoffMs(failures - 1, BACKOFF, clock.random);
  };
  const size = async () => {
    if (idleMax <= idle) return { target: idle, most: burst };
    const { runners, awaited } = await fleet.demand(provider.name);
    const target = Math.min(idleMax, Math.max(idle, runners));
    return { target, most: Math.max(burst, awaited + target - idle) };
  };
  return {
    async runOnce() {
      if (clock.nowMs() < notBeforeMs) return;
      const { target, most } = await size();
      onTarget(target);
      const created = await fleet.plan(provider.name, await provider.templateDigest(), target, failures > 0 ? 1 : most);
      if (created > 0) {
        if (failures > 0) wait(); // what comes of it is not known at the next look
        log.debug({ created }, 'creating runners');
        kickLaunch();
      }
      kickDrain();
    },
    failed() {
      failures += 1;
      wait();
    },
    succeeded() {
      failures = 0;
      notBeforeMs = 0;
    },
  };
}
