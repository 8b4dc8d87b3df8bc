import type { ControlEnd, GivenBack, LiveControl } from '../../contract/live.ts';
import { LIVE_LIMITS } from '../../contract/live-limits.ts';
import { alarm } from '../../time/alarm.ts';
import type { Clock } from '../../time/clock.ts';

/** A viewer that may take control: one socket, by its id, and the person behind it. */
export interface Person {
  readonly id: string;
  /** The same on each of their connections, and no other person's. */
  readonly identity: string;
  /** Not unique. */
  readonly name: string;
}

/** From whom control is taken, by id, and why in the words of who takes it. */
export interface TakenFrom {
  readonly id: string;
  readonly reason: string | null;
}

/**
 * The one who acts on the browser of a lease: its agent or one person. The one place that decides; every call of the agent begins
 * here, and every input of a person is asked for here.
 */
export interface Control {
  state(): LiveControl;
  /** False: another person has control, or waits for it. With `from` it is taken from that one, if it is theirs. */
  take(person: Person, from?: TakenFrom): boolean;
  /** Gives control back, or withdraws the request for it. Changes nothing for any other person. */
  giveBack(personId: string, why: GivenBack): void;
  /** Whether this person may act now. The answer yes counts as activity. */
  mayAct(personId: string): boolean;
  /** The holder's connection is gone: control returns in `lostSeconds`, unless the same person takes it again. */
  connectionLost(personId: string): void;
  /** Marks the start of an agent's call; undefined: a person has control. The returned function marks its end. */
  beginCall(): (() => void) | undefined;
  /** Resolves when a call may be begun; a call that still may not asks again. Rejects with the signal's reason. */
  untilAgent(signal: AbortSignal): Promise<void>;
  /** Whether a person has acted since this was last asked. */
  takeActed(): boolean;
  /** Ends every timer; control goes back. */
  close(): void;
}

export interface ControlOptions {
  readonly clock: Clock;
  /** Called with each change. */
  readonly onChange: () => void;
  readonly onTaken: (person: Person, from: LiveControl['taken_from']) => void;
  /**
   * Called before the agent goes on, or the next person, who wait for it: lifts what the person still holds, and lets the
   * last input end. Never rejects.
   */
  readonly onEnded: (person: Person, why: ControlEnd, seconds: number) => Promise<void>;
}

interface Holding {
  readonly person: Person;
  readonly state: 'pausing' | 'person' | 'leaving';
  readonly sinceMs: number;
  readonly takenFrom: LiveControl['taken_from'];
}

export function agentControl({ clock, onChange, onTaken, onEnded }: ControlOptions): Control {
  let holding: Holding | undefined;
  /** Calls of the agent, and what is done for a person from whom control was taken. */
  let running = 0;
  /** Resolves when the last person's input has ended and what they held is lifted. */
  let lifted = Promise.resolve();
  let waiting = 0;
  let acted = false;
  let idleAtMs = 0;
  let why: GivenBack | null = null;
  let freed = Promise.withResolvers<void>();
  const idle = alarm(clock, () => holding && giveBack(holding.person.id, 'idle'));
  const lost = alarm(clock, () => holding && giveBack(holding.person.id, 'lost'));

  function touch(): void {
    idleAtMs = clock.nowMs() + LIVE_LIMITS.idleSeconds * 1_000;
    idle.setAt(idleAtMs);
  }

  function hold(person: Person, takenFrom: Holding['takenFrom']): void {
    holding = { person, state: 'person', sinceMs: clock.nowMs(), takenFrom };
    touch();
    onTaken(person, takenFrom);
    onChange();
  }

  /** Holds as soon as nothing runs any more. */
  function ask(person: Person, takenFrom: Holding['takenFrom']): void {
    if (running === 0) {
      hold(person, takenFrom);
      return;
    }
    holding = { person, state: 'pausing', sinceMs: clock.nowMs(), takenFrom };
    onChange();
  }

  function begin(): () => void {
    running += 1;
    return () => {
      running -= 1;
      if (running === 0 && holding?.state === 'pausing') hold(holding.person, holding.takenFrom);
    };
  }

  /** Ends what the holder has: control itself, or the wait for it. */
  function end({ person, state, sinceMs }: Holding, because: ControlEnd): void {
    idle.clear();
    lost.clear();
    if (state === 'person') lifted = onEnded(person, because, Math.round((clock.nowMs() - sinceMs) / 1_000));
  }

  /** The next person waits, as for a call, until what this one held is lifted. */
  function takeFrom(before: Holding, person: Person, reason: string | null): void {
    end(before, 'taken');
    const done = begin();
    ask(person, { id: before.person.id, name: before.person.name, reason });
    void lifted.then(done);
  }

  function giveBack(personId: string, because: GivenBack): void {
    if (holding?.person.id !== personId || holding.state === 'leaving') return;
    end(holding, because);
    holding = { ...holding, state: 'leaving' };
    void lifted.then(() => {
      holding = undefined;
      why = because;
      freed.resolve();
      freed = Promise.withResolvers();
      onChange();
    });
  }

  return {
    state: () => ({
      state: holding === undefined ? 'agent' : holding.state === 'pausing' ? 'pausing' : 'person',
      holder: holding?.person.id ?? null,
      name: holding?.person.name ?? null,
      idle_ms: holding?.state === 'person' ? Math.max(0, idleAtMs - clock.nowMs()) : null,
      taken_from: holding?.takenFrom ?? null,
      waiting,
      why: holding === undefined ? why : null,
    }),
    take(person, from) {
      if (holding === undefined) {
        ask(person, null);
        return true;
      }
      if (holding.state === 'leaving') return false;
      // The same person on a new connection, after a reload for instance.
      if (holding.person.identity === person.identity) {
        lost.clear();
        holding = { ...holding, person };
        onChange();
        return true;
      }
      if (holding.person.id !== from?.id) return false;
      takeFrom(holding, person, from.reason);
      return true;
    },
    giveBack,
    mayAct(personId) {
      if (holding?.state !== 'person' || holding.person.id !== personId) return false;
      acted = true;
      touch();
      return true;
    },
    connectionLost(personId) {
      if (holding?.person.id === personId) lost.setAt(clock.nowMs() + LIVE_LIMITS.lostSeconds * 1_000);
    },
    beginCall: () => (holding === undefined ? begin() : undefined),
    async untilAgent(signal) {
      if (holding === undefined) return;
      const { promise: aborted, reject } = Promise.withResolvers<never>();
      const onAbort = () => reject(signal.reason);
      signal.throwIfAborted();
      signal.addEventListener('abort', onAbort, { once: true });
      waiting += 1;
      onChange();
      try {
        while (holding !== undefined) await Promise.race([freed.promise, aborted]);
      } finally {
        signal.removeEventListener('abort', onAbort);
        waiting -= 1;
        onChange();
      }
    },
    takeActed() {
      const before = acted;
      acted = false;
      return before;
    },
    close() {
      if (holding !== undefined) giveBack(holding.person.id, 'lease_ended');
      idle.clear();
      lost.clear();
    },
  };
}
