import * as z from 'zod';
import type { Database } from '../ports/database.ts';
import { callFunction, callRows } from './call.ts';

/** A claim: one caller's hold on the start of one epoch. */
export interface Claim {
  sessionId: string;
  epoch: number;
  claimId: string;
}

interface Beat extends PromiseWithResolvers<boolean> {
  readonly claim: Claim;
}

const beaten = z.object({ claim: z.uuid(), kept: z.boolean() });

/**
 * Keeps claims. Those that come while a statement is under way are kept by the next one together, so that a thousand starts at once do not
 * wait for one another's connections until their claims lapse. False: the claim was taken over, or is too old to be kept.
 */
export function claimBeats(
  database: Database,
  rules: { claimSeconds: number; startSeconds: number },
): (claim: Claim) => Promise<boolean> {
  const seconds = { p_claim_seconds: rules.claimSeconds, p_start_seconds: rules.startSeconds };
  let waiting: Beat[] = [];
  let isRunning = false;

  /** Waits until no other statement works on the session. */
  const beatOne = async ({ claim: { sessionId, epoch, claimId }, resolve, reject }: Beat): Promise<void> => {
    const claim = { p_session: sessionId, p_epoch: epoch, p_claim: claimId };
    await callFunction(database, 'beat_claim', { ...claim, ...seconds }).then(
      answer => resolve(z.boolean().parse(answer)),
      reject,
    );
  };
  const beatAll = async (beats: readonly Beat[]): Promise<void> => {
    const claims = {
      p_sessions: beats.map(({ claim }) => claim.sessionId),
      p_epochs: beats.map(({ claim }) => claim.epoch),
      p_claims: beats.map(({ claim }) => claim.claimId),
    };
    try {
      const rows = z.array(beaten).parse(await callRows(database, 'beat_claims', { ...claims, ...seconds }));
      const kept = new Map(rows.map(row => [row.claim, row.kept]));
      for (const beat of beats) {
        const answer = kept.get(beat.claim.claimId);
        if (answer === undefined) void beatOne(beat);
        else beat.resolve(answer);
      }
    } catch (error) {
      for (const { reject } of beats) reject(error);
    }
  };
  const run = async (): Promise<void> => {
    isRunning = true;
    while (waiting.length > 0) {
      const [first, ...others] = waiting;
      waiting = [];
      if (first !== undefined && others.length === 0) await beatOne(first);
      else if (first !== undefined) await beatAll([first, ...others]);
    }
    isRunning = false;
  };
  return claim => {
    const beat = { claim, ...Promise.withResolvers<boolean>() };
    waiting.push(beat);
    if (!isRunning) void run();
    return beat.promise;
  };
}
