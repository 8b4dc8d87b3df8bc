import type { BrowserSessions } from '../../client/browser-sessions.ts';
import { type Percentiles, percentiles, ratio } from './figures.ts';
import type { SqlCall, TimedStack } from './timed-stack.ts';

/** Milliseconds of one acquire of a warm runner, by part. */
export type AcquireParts = Record<
  'totalMs' | 'claimSqlMs' | 'assignMs' | 'redeemSqlMs' | 'restMs' | 'plainGetMs',
  Percentiles
> & { toPlainGet: number };

/**
 * Divides acquires at the database functions: the claim; the time between claim and redemption (signing the assignment, the way to
 * the runner and back to the broker); the redemption, which makes the lease ready. The rest is HTTP, tokens and JSON. Each is followed by
 * a GET of its session, so that the two meet the same moment of the machine; `toPlainGet` is the ratio of their medians.
 */
export async function acquireParts(
  stack: TimedStack,
  sessions: BrowserSessions,
  { rounds, prepare }: { rounds: number; prepare: () => Promise<void> },
): Promise<AcquireParts> {
  const parts: Record<Exclude<keyof AcquireParts, 'toPlainGet'>, number[]> = {
    ...{ totalMs: [], claimSqlMs: [], assignMs: [], redeemSqlMs: [], restMs: [], plainGetMs: [] },
  };
  for (let round = 0; round < rounds; round++) {
    await prepare();
    await stack.sqlCalls();
    const startMs = performance.now();
    const lease = await sessions.acquire({ userId: `parts-${round}`, conversationId: 'c', recordVideo: false });
    const totalMs = performance.now() - startMs;
    const calls = await stack.sqlCalls();
    const getMs = performance.now();
    await sessions.get(lease.sessionId);
    parts.plainGetMs.push(performance.now() - getMs);
    await lease.end();
    const claim = find(calls, 'acquire');
    const redeem = find(calls, 'redeem');
    const betweenMs = redeem.atMs - (claim.atMs + claim.ms);
    parts.totalMs.push(totalMs);
    parts.claimSqlMs.push(claim.ms);
    parts.redeemSqlMs.push(redeem.ms);
    parts.assignMs.push(betweenMs);
    parts.restMs.push(totalMs - claim.ms - betweenMs - redeem.ms);
  }
  return {
    totalMs: percentiles(parts.totalMs),
    claimSqlMs: percentiles(parts.claimSqlMs),
    assignMs: percentiles(parts.assignMs),
    redeemSqlMs: percentiles(parts.redeemSqlMs),
    restMs: percentiles(parts.restMs),
    plainGetMs: percentiles(parts.plainGetMs),
    toPlainGet: ratio(percentiles(parts.totalMs).p50, percentiles(parts.plainGetMs).p50),
  };
}

function find(calls: SqlCall[], name: string): SqlCall {
  const call = calls.find(each => each.name === name);
  if (call) return call;
  throw new Error(`no call of ${name} among ${calls.map(each => each.name).join(', ')}`);
}
