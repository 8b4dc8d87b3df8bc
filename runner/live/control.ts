import type { ControlEnd, GivenBack, LiveControl } from '../../contract/live.ts';
import { LIVE_LIMITS } from '../../contract/live-limits.ts';
import { type Alarm, alarm } from '../../time/alarm.ts';
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

export class AgentControl implements Control {
  readonly #options: ControlOptions;
  #holding: Holding | undefined;
  /** Calls of the agent, and what is done for a person from whom control was taken. */
  #running = 0;
  /** Resolves when the last person's input has ended and what they held is lifted. */
  #lifted = Promise.resolve();
  #waiting = 0;
  #acted = false;
  #idleAtMs = 0;
  #why: GivenBack | null = null;
  #freed = Promise.withResolvers<void>();
  readonly #idle: Alarm;
  readonly #lost: Alarm;

  constructor(options: ControlOptions) {
    this.#options = options;
    this.#idle = alarm(options.clock, () => this.#holding && this.giveBack(this.#holding.person.id, 'idle'));
    this.#lost = alarm(options.clock, () => this.#holding && this.giveBack(this.#holding.person.id, 'lost'));
  }

  state(): LiveControl {
    const holding = this.#holding;
    return {
      state: holding === undefined ? 'agent' : holding.state === 'pausing' ? 'pausing' : 'person',
      holder: holding?.person.id ?? null,
      name: holding?.person.name ?? null,
      idle_ms: holding?.state === 'person' ? Math.max(0, this.#idleAtMs - this.#options.clock.nowMs()) : null,
      taken_from: holding?.takenFrom ?? null,
      waiting: this.#waiting,
      why: holding === undefined ? this.#why : null,
    };
  }

  take(person: Person, from?: TakenFrom): boolean {
    const holding = this.#holding;
    if (holding === undefined) {
      this.#ask(person, null);
      return true;
    }
    if (holding.state === 'leaving') return false;
    // The same person on a new connection, after a reload for instance.
    if (holding.person.identity === person.identity) {
      this.#lost.clear();
      this.#holding = { ...holding, person };
      this.#options.onChange();
      return true;
    }
    if (holding.person.id !== from?.id) return false;
    this.#takeFrom(holding, person, from.reason);
    return true;
  }

  giveBack(personId: string, because: GivenBack): void {
    const holding = this.#holding;
    if (holding?.person.id !== personId || holding.state === 'leaving') return;
    this.#end(holding, because);
    this.#holding = { ...holding, state: 'leaving' };
    void this.#lifted.then(() => {
      this.#holding = undefined;
      this.#why = because;
      this.#freed.resolve();
      this.#freed = Promise.withResolvers();
      this.#options.onChange();
    });
  }

  mayAct(personId: string): boolean {
    if (this.#holding?.state !== 'person' || this.#holding.person.id !== personId) return false;
    this.#acted = true;
    this.#touch();
    return true;
  }

  connectionLost(personId: string): void {
    if (this.#holding?.person.id === personId)
      this.#lost.setAt(this.#options.clock.nowMs() + LIVE_LIMITS.lostSeconds * 1_000);
  }

  beginCall(): (() => void) | undefined {
    return this.#holding === undefined ? this.#begin() : undefined;
  }

  async untilAgent(signal: AbortSignal): Promise<void> {
    if (this.#holding === undefined) return;
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const onAbort = () => reject(signal.reason);
    signal.throwIfAborted();
    signal.addEventListener('abort', onAbort, { once: true });
    this.#waiting += 1;
    this.#options.onChange();
    try {
      while (this.#holding !== undefined) await Promise.race([this.#freed.promise, aborted]);
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#waiting -= 1;
      this.#options.onChange();
    }
  }

  takeActed(): boolean {
    const before = this.#acted;
    this.#acted = false;
    return before;
  }

  close(): void {
    if (this.#holding !== undefined) this.giveBack(this.#holding.person.id, 'lease_ended');
    this.#idle.clear();
    this.#lost.clear();
  }

  #touch(): void {
    this.#idleAtMs = this.#options.clock.nowMs() + LIVE_LIMITS.idleSeconds * 1_000;
    this.#idle.setAt(this.#idleAtMs);
  }

  #hold(person: Person, takenFrom: Holding['takenFrom']): void {
    this.#holding = { person, state: 'person', sinceMs: this.#options.clock.nowMs(), takenFrom };
    this.#touch();
    this.#options.onTaken(person, takenFrom);
    this.#options.onChange();
  }

  /** Holds as soon as nothing runs any more. */
  #ask(person: Person, takenFrom: Holding['takenFrom']): void {
    if (this.#running === 0) {
      this.#hold(person, takenFrom);
      return;
    }
    this.#holding = { person, state: 'pausing', sinceMs: this.#options.clock.nowMs(), takenFrom };
    this.#options.onChange();
  }

  #begin(): () => void {
    this.#running += 1;
    return () => {
      this.#running -= 1;
      if (this.#running === 0 && this.#holding?.state === 'pausing')
        this.#hold(this.#holding.person, this.#holding.takenFrom);
    };
  }

  /** Ends what the holder has: control itself, or the wait for it. */
  #end({ person, state, sinceMs }: Holding, because: ControlEnd): void {
    this.#idle.clear();
    this.#lost.clear();
    const seconds = Math.round((this.#options.clock.nowMs() - sinceMs) / 1_000);
    if (state === 'person') this.#lifted = this.#options.onEnded(person, because, seconds);
  }

  /** The next person waits, as for a call, until what this one held is lifted. */
  #takeFrom(before: Holding, person: Person, reason: string | null): void {
    this.#end(before, 'taken');
    const done = this.#begin();
    this.#ask(person, { id: before.person.id, name: before.person.name, reason });
    void this.#lifted.then(done);
  }
}
