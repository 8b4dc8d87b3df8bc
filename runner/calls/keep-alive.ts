import { leaseEndedResult } from '../../contract/lease-ended.ts';
import type { CallLease } from './call-lease.ts';
import type { Stage } from './stage.ts';

/** A call counts as activity, and its browser runs; where the session was hibernated meanwhile, it is answered so. */
export const keepAlive =
  (lease: Pick<CallLease, 'lifetime' | 'freezer' | 'pages' | 'isHibernated' | 'recordingReady'>): Stage =>
  async (_call, next) => {
    const finished = beginActivity(lease);
    const callEnded = lease.pages.callStarted();
    try {
      if (await lease.isHibernated()) return leaseEndedResult('hibernated');
      await lease.recordingReady;
      return await next();
    } finally {
      callEnded();
      finished();
    }
  };

/** Counts a call as activity, and thaws the browser, until the function that it returns is called. */
export function beginActivity({ lifetime, freezer }: Pick<CallLease, 'lifetime' | 'freezer'>): () => void {
  const finished = lifetime.callStarted();
  const unused = freezer.use();
  return () => {
    unused();
    finished();
  };
}
