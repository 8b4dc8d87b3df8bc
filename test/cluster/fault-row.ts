import type { BrowserSessions } from '../../client/browser-sessions.ts';
import type { FaultLine } from './fault-table.ts';
import { comesBack, type Held, hold, startsAgain, stillServes, videoStored } from './held.ts';

/** The leases that live before one fault and are looked at after it. */
export interface FaultRow {
  /** Those that end with the row. */
  readonly held: Held[];
  lease(options?: { recorded?: boolean }): Promise<Held>;
  /** The same browsers still serve. */
  serves(...all: Held[]): Promise<unknown>;
  leaseAgain(held: Held): Promise<void>;
  leaseBack(held: Held): Promise<void>;
  /** The fault happens now; without it, the fault lasts until `heals`. */
  happens(): void;
  /** Heals, then ends every lease and sees what is left of it. */
  heals(fault: string, heal: () => Promise<unknown>): Promise<Omit<FaultLine, 'orphans'>>;
  /** Ends the leases of a test that failed. */
  endAll(): Promise<void>;
}

export function faultRow(sessions: BrowserSessions): FaultRow {
  const held: Held[] = [];
  let happenedMs: number | undefined;
  return {
    held,
    async lease(options = {}) {
      const leased = await hold(sessions, options);
      held.push(leased);
      return leased;
    },
    serves: (...all) => Promise.all(all.map(each => stillServes(sessions, each))),
    async leaseAgain(lost) {
      held.push(await startsAgain(sessions, lost));
    },
    async leaseBack(away) {
      held.push(await comesBack(sessions, away));
    },
    happens() {
      happenedMs = performance.now();
    },
    async heals(fault, heal) {
      const sinceMs = happenedMs ?? performance.now();
      await heal();
      const recoveryMs = performance.now() - sinceMs;
      const all = held.splice(0);
      await Promise.all(all.map(({ browser }) => browser[Symbol.asyncDispose]()));
      await Promise.all(all.map(({ lease }) => lease.end()));
      const recorded = all.filter(each => each.recorded);
      const stored = await Promise.all(recorded.map(each => videoStored(sessions, each)));
      return {
        fault,
        sessions: new Set(all.map(({ userId }) => userId)).size,
        sessionsLost: all.filter(({ lost }) => lost).length,
        videos: recorded.length,
        videosLost: stored.filter(isStored => !isStored).length,
        recoveryMs: Math.round(recoveryMs),
      };
    },
    async endAll() {
      for (const { lease } of held.splice(0)) await lease.end().catch(() => {});
    },
  };
}
