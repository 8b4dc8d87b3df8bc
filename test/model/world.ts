/**
 * The assumptions of the protocol, each with the hole of docs/protocol.md that it closes. A world may be built without
 * some of them: the checker must then find the hole.
 */
export type Fix =
  /** 1: a runner closes by its own monotonic clock. */
  | 'runner-deadline'
  /** 2: the redemption waits for the end of the predecessor. */
  | 'redeem-awaits-predecessor'
  /** 3: `ready` asks for `starting`, and an end clears `claim_id`. */
  | 'ready-asks-starting'
  /** 4: DELETE and heartbeat act on the epoch they were sent for. */
  | 'requests-carry-epoch'
  /** 5: an assignment that timed out is a new epoch. */
  | 'new-runner-new-epoch'
  /** 6: the redemption judges session, epoch, claim and runner. */
  | 'redeem-judges-claim'
  /** 7: the redemption locks the session before it judges. */
  | 'redeem-locks-session'
  /** 7, 8: a claim drains the runner of the epoch before. */
  | 'claim-drains-old-runner'
  /** 9: a runner comes up once, by compare-and-set on `creating`. */
  | 'up-only-from-creating'
  /** 10: the pool writes `draining` before it deletes. */
  | 'pool-drains-first'
  /** 11: an end is a compare-and-set on (id, epoch, expired). */
  | 'end-compares-epoch'
  /** 12: a commit that was answered survives a failover. */
  | 'synchronous-standby'
  /** 13: the clock is judged after the lock was got. */
  | 'judge-under-lock'
  /** 14: a claim with the same `claim_id` is resumed. */
  | 'resume-own-claim'
  /** 15: a takeover inherits a runner that was sent nothing. */
  | 'takeover-inherits'
  /** 17: a permit is held until its pod is gone. */
  | 'permit-until-gone'
  /** 17: an expired lease that is not ended yet does not count. */
  | 'quota-ignores-expired'
  /** 17: quota is counted and claimed in one step. */
  | 'quota-under-lock'
  /** 21: the sweep lists pods, then reads rows. */
  | 'sweep-lists-pods-first'
  /** 22: redeem and ready compare `claim_id`; redundant for safety. */
  | 'claim-id'
  /** The epoch rises with a takeover too. */
  | 'takeover-raises-epoch'
  /** `ready` names its epoch and claim. */
  | 'ready-names-claim'
  /** A: a runner that does not answer is `draining`; `gone` needs proof that its process has ended. */
  | 'suspicion-is-not-gone'
  /** B: a pod that is not found is gone only when no call that creates it can still be under way. */
  | 'gone-awaits-create'
  /** C: whatever sends a runner the time left writes it into the runner's row in the same step. */
  | 'told-is-written'
  /** D: a runner counts the time left from when it asked, not from when it was answered. */
  | 'count-from-asking'
  /** E: a runner that closed while its redemption was under way does not open when the answer comes. */
  | 'closed-stays-closed'
  /** F: `ready` refuses a lease that has expired meanwhile. */
  | 'ready-judges-expiry'
  /** G: an inherited runner keeps the cap of its start; past it, it is drained. */
  | 'inherit-keeps-cap'
  /** H: a launch that gives up does so by compare-and-set on `creating`. */
  | 'launch-fails-only-creating'
  /** I: a start that has lapsed either counts for the quota until it is ended, or can never be kept again. */
  | 'lapsed-start-counts'
  /** J: the snapshot is kept and the lease is ended in one step. */
  | 'hibernate-in-one-step'
  /** K: a call that arrives while the browser is being saved waits for the answer of the hibernation, and is not carried out after it. */
  | 'calls-wait-for-hibernation'
  /** L: a hibernation asks whether the lease was used meanwhile. */
  | 'hibernate-judges-use'
  /** M: a hibernation names its epoch, and asks for a lease that is ready, unexpired and its runner's. */
  | 'hibernate-judges-lease'
  /** N: a snapshot stays until the restored lease is ready. */
  | 'snapshot-until-ready'
  /** O: a start that fails leaves a hibernated session hibernated. */
  | 'failed-restore-hibernates'
  /** P: the end of a session, and its restored lease, take the snapshot along. */
  | 'end-drops-snapshot'
  /** Q: a caller takes a place when more are free than callers come first. */
  | 'line-in-order'
  /** R: a caller that is refused for another reason leaves the line. */
  | 'refused-leaves-line';

export type World = {
  /** How many of each there are, and the highest epoch. */
  sessions: number;
  callers: number;
  runners: number;
  epochs: number;
  /** Live leases of the one user, and runners that may exist. */
  quota: number;
  permits: number;
  /** Unreserved runners the pool keeps. */
  pool: number;
  /** Runners that are warm at the start. */
  warm: number;
  /** Containers may restart in place, whatever `restartPolicy` says. */
  restarts: boolean;
  /** Leases that are not used are hibernated. */
  hibernates: boolean;
  /** Callers wait where every place is taken. */
  line: boolean;
  without: ReadonlySet<Fix>;
};

/** One user with one session, two callers, two runners, two epochs. */
export const SMALL: World = {
  sessions: 1,
  callers: 2,
  runners: 2,
  epochs: 2,
  quota: 1,
  permits: 2,
  pool: 1,
  warm: 0,
  restarts: false,
  hibernates: false,
  line: false,
  without: new Set(),
};

/** Ticks: a lease, `claim_until`, the hard cap of a start. Two of each long one, so that half-way is a place. */
export const TICKS = { lease: 2, claim: 1, start: 2 } as const;

export const holds = (world: World, fix: Fix): boolean => !world.without.has(fix);
