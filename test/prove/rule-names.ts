/** The rules of docs/proof.md, by the names in the code. A seeded fault is recognised by the rule that it breaks. */
export const RULES = {
  noError: 'no step fails: neither a guard, nor a constraint, nor a deadlock',
  epochRises: 'an epoch rises by one, and only with a claim',
  oneRunner: 'one epoch is one runner, permanently',
  oneOwner: 'a runner that was sent an assignment serves one session and one epoch',
  forward: 'states of runners only move forward',
  grantCurrent: 'no grant of an epoch after a higher one was claimed, nor after its end',
  grantUnexpired: 'no grant of an expired lease',
  noRevival: 'no lease is revived after its expiry',
  withinAge: 'no lease outlives its maximum age',
  ownClaim: 'no caller waits for its own claim: a lost answer is found again',
  liveStays: 'a live lease is renewed and not replaced; a start that is alive is waited for',
  endForReason: 'a lease ends for a reason that holds, and a request for one epoch touches no other',
  endDropsClaim: 'an end gives up the claim',
  secretsOnce: 'secrets are redeemed once an epoch, under the current claim, and again only with the same key',
  awaitsPredecessor:
    'no redemption before every earlier runner of the session is gone, acknowledged or past its deadline',
  deadlineRises: 'a deadline never falls, and is no sooner than what the runner was told',
  oneServes: 'one runner at most serves a session, and none after a DELETE has returned',
  quota: 'live leases stay within the quota of their user',
  capacity: 'runners stay within the capacity, each with one permit until it is gone',
  poolSpares: 'no loop drains a runner that a lease holds',
  recovers: 'with time and the loops alone every start ends, every runner goes and every permit is free',
  noFreeRefused: 'no request is refused while a place is free for it',
  noOvertaking: 'no caller overtakes another of the same pool',
  noFreePlace: 'no place is free while one waits',
  keepsTurn: 'a caller that obeys Retry-After keeps its place, and is asked to stay away for 1 to 30 s',
  lineQuota: 'a user has no more callers in the line than sessions',
  oneWriter: 'one live lease at most has a profile for writing',
  writerSaves: 'only the writer of a profile saves it, one version after the other, and a writer is awaited',
  snapshotKept: 'a hibernated session has its snapshot, and a ready or ended one has none',
  restoreCosts: 'a restore that fails costs nothing of the session',
  hibernatesIdle: 'no lease is hibernated that was used within the time asked for',
} as const;

export type RuleName = keyof typeof RULES;

/** Writes down that a rule is broken, unless it holds. */
export type Require = (rule: RuleName, holds: boolean, detail: () => string) => void;
