import type { GivenBack, LiveControl } from '../../contract/live.ts';
import { LIVE_LIMITS } from '../../contract/live-limits.ts';
import type { Clock } from '../../http/clock.ts';
import { alarm } from '../reporting/alarm.ts';

/** A viewer that may take control: one socket, by its id, and the person behind it, by name. */
export interface Person {
  readonly id: string;
  readonly name: string;
}

/**
 * Who acts on the browser of a lease: its agent or one person. The one place that decides; every call of the agent begins
 * here, and every input of a person is asked for here.
 */
export interface Control {
  state(): LiveControl;
  /** False: another person has control, or waits for it. */
  take(person: Person): boolean;
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
  readonly onTaken: (person: Person) => void;
  /**
   * Called before the agent goes on, which waits for it: lifts what the person still holds, and lets the last input end.
   * Never rejects.
   */
  readonly onGivenBack: (person: Person, why: GivenBack, seconds: number) => Promise<void>;
}

interface Holding {
  readonly person: Person;
  readonly state: 'pausing' | 'person' | 'leaving';
  readonly sinceMs: number;
}

export function agentControl({ clock, onChange, onTaken, onGivenBack }: ControlOptions): Control {
  let holding: Holding | undefined;
  let running = 0;
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

  function hold(person: Person): void {
    holding = { person, state: 'person', sinceMs: clock.nowMs() };
    touch();
    onTaken(person);
    onChange();
  }

  function giveBack(personId: string, because: GivenBack): void {
    if (holding?.person.id !== personId || holding.state === 'leaving') return;
    const { person, state, sinceMs } = holding;
    idle.clear();
    lost.clear();
    holding = { person, state: 'leaving', sinceMs };
    const seconds = state === 'person' ? Math.round((clock.nowMs() - sinceMs) / 1_000) : 0;
    const left = state === 'person' ? onGivenBack(person, because, seconds) : Promise.resolve();
    void left.then(() => {
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
      waiting,
      why: holding === undefined ? why : null,
    }),
    take(person) {
      if (holding !== undefined) {
        // The same person on a new connection, after a reload for instance.
        if (holding.person.name !== person.name || holding.state === 'leaving') return false;
        lost.clear();
        holding = { ...holding, person };
        onChange();
        return true;
      }
      if (running === 0) {
        hold(person);
        return true;
      }
      holding = { person, state: 'pausing', sinceMs: clock.nowMs() };
      onChange();
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
    beginCall() {
      if (holding !== undefined) return undefined;
      running += 1;
      return () => {
        running -= 1;
        if (running === 0 && holding?.state === 'pausing') hold(holding.person);
      };
    },
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
