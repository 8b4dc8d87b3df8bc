import { alarm } from '../../time/alarm.ts';
import type { Clock } from '../../time/clock.ts';
import type { Pause } from './pause.ts';

/**
 * Stops a lease's browser while nothing uses it and no platform holds it. Open connections stay open; docs/operations.md
 * has what that saves and costs.
 */
export interface Freezer {
  /** The browser runs until the returned function was called; at once, if it was frozen. */
  use(): () => void;
  /** Uses that go on. */
  users(): number;
  /** Uses that ever began. */
  usesBegun(): number;
  /** When a use last began or ended. */
  usedAtMs(): number;
  /** The browser runs from now on. */
  close(): void;
}

export interface FreezerOptions {
  readonly pause: Pause;
  /** Without use; 0: never. */
  readonly afterMs: number;
  /** Asks for how long the platform holds the lease yet: a held browser runs. */
  readonly heldMs: () => Promise<number>;
  readonly clock: Clock;
  readonly onFrozen: () => void;
  readonly onThawed: (frozenMs: number) => void;
}

/** A lease that its platform holds may be released at any time; asked again after this at the latest, and at the soonest. */
const ASK_MS = { min: 1_000, max: 30_000 } as const;

export function browserFreezer({ pause, afterMs, heldMs, clock, onFrozen, onThawed }: FreezerOptions): Freezer {
  let users = 0;
  let begun = 0;
  let usedAtMs = clock.nowMs();
  let closed = afterMs === 0;
  let frozenAtMs: number | undefined;
  const idle = alarm(clock, () => void freezeUnlessHeld());

  async function freezeUnlessHeld(): Promise<void> {
    if (users > 0) return; // the end of the last use sets it again
    const uses = begun;
    const held = await heldMs().catch(() => ASK_MS.max); // the lease's end thaws in any case
    if (closed || begun !== uses) return;
    if (held > 0) {
      idle.setAt(clock.nowMs() + Math.min(Math.max(held, ASK_MS.min), ASK_MS.max));
      return;
    }
    frozenAtMs = clock.nowMs();
    void pause.hold();
    onFrozen();
  }

  const freezeWhenIdle = () => {
    if (!closed) idle.setAt(clock.nowMs() + afterMs);
  };

  function thaw(): void {
    if (frozenAtMs === undefined) return;
    pause.letGo();
    onThawed(clock.nowMs() - frozenAtMs);
    frozenAtMs = undefined;
  }

  freezeWhenIdle();
  return {
    use() {
      users += 1;
      begun += 1;
      usedAtMs = clock.nowMs();
      thaw();
      let used = false;
      return () => {
        if (used) return;
        used = true;
        users -= 1;
        usedAtMs = clock.nowMs();
        if (users === 0) freezeWhenIdle();
      };
    },
    users: () => users,
    usesBegun: () => begun,
    usedAtMs: () => usedAtMs,
    close() {
      closed = true;
      idle.clear();
      thaw();
    },
  };
}
