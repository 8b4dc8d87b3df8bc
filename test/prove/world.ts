import { randomUUID } from 'node:crypto';
import type { LeaseKey } from '../../contract/lease-key.ts';
import { type Broker, sqlBroker } from '../../controller/store/broker.ts';
import { type Fleet, sqlFleet } from '../../controller/store/fleet.ts';
import { type Hibernations, sqlHibernations } from '../../controller/store/hibernations.ts';
import { type Leases, sqlLeases } from '../../controller/store/leases.ts';
import { type Maintenance, sqlMaintenance } from '../../controller/store/maintenance.ts';
import { type Profiles, sqlProfiles } from '../../controller/store/profiles.ts';
import type { ProofConnection, ProofDatabase } from './proof-database.ts';
import { type HistoryRecord, SECONDS, type Serving, type Setup, STEPS_A_MOMENT, type Step } from './record.ts';

export const PROVIDER = 'proof';
export const TEMPLATE = 't1';
/** A runner closes this long before the end that an answer gave it. */
const MARGIN_MS = 500;

/** The store as a controller has it. */
export interface Store {
  leases: Leases;
  fleet: Fleet;
  broker: Broker;
  profiles: Profiles;
  hibernations: Hibernations;
  maintenance: Maintenance;
}

/** A controller in the middle of get-or-create. Its crash takes it out of the world. */
export interface Caller {
  readonly replica: number;
  readonly user: string;
  readonly conversation: string;
  readonly profile: 'read-write' | 'read-only' | null;
  readonly switches: boolean;
  waits: boolean;
  claim: string;
  /** A claim of this caller that it gives up. */
  abandon: string | null;
  unhibernated: string[] | null;
  phase: 'asking' | 'waiting' | 'away' | 'claimed' | 'sent';
  place?: string | undefined;
  session?: string;
  epoch?: number;
  runner?: string;
  /** The runner may be sent its assignment. */
  assigned?: boolean;
  attempts: number;
}

export interface Assignment {
  readonly session: string;
  readonly user: string;
  readonly conversation: string;
  readonly epoch: number;
  readonly claim: string;
  readonly boot: string;
  readonly profile: boolean;
}

/** A runner's process, whatever its row says. */
export interface Process {
  readonly id: string;
  readonly boot: string;
  readonly key: string;
  phase: 'launching' | 'fresh' | 'redeeming' | 'open' | 'closed' | 'dead';
  job: Assignment | null;
  /** On the wire: it may arrive late, never, or many times. */
  mail: Assignment | null;
  /** By its own clock. */
  ownUntilMs: number;
  /** The version of its profile that it knows. */
  base: number;
  profileId: string | null;
  /** State that it read of its browser and has yet to commit. */
  saving: { profileId: string; base: number; object: string; idleSeconds: number } | null;
}

/** One or two steps at once share a moment; each context is on a connection of its own. */
export interface Context {
  readonly store: Store;
  readonly raced: boolean;
  /** The next step's number. */
  next(): Promise<number>;
}

/** All that lives in one history, and how each of its steps is done and written down. */
export class World {
  readonly setup: Setup;
  readonly users: readonly string[];
  callers: Caller[] = [];
  readonly processes = new Map<string, Process>();
  /** Runners that a controller's drain loop works on. */
  drains: { id: string; replica: number }[] = [];
  /** Every lease that was ever claimed. */
  readonly leases: { session: string; user: string; epoch: number }[] = [];
  /** Sessions that were hibernated, the last one last. */
  readonly asleep: Pick<Caller, 'user' | 'conversation'>[] = [];
  /** Requests that were sent: each may arrive once more, at any time. */
  readonly sent: ((context: Context) => Promise<unknown>)[] = [];
  /** Places in the line whose replica has crashed, or whose caller has yet to learn of it. */
  readonly abandoned: string[] = [];
  readonly steps: Step[] = [];
  readonly errors: string[] = [];
  readonly database: ProofDatabase;
  readonly #stores: readonly Store[];
  #moment = 0;

  constructor(database: ProofDatabase, setup: Setup, name: string) {
    this.database = database;
    this.setup = setup;
    this.users = Array.from({ length: setup.users }, (_, n) => `${name}-${n}`);
    this.#stores = database.connections.map(connection => storeOn(connection, setup));
  }

  nowMs(): number {
    return this.database.nowMs();
  }

  /** A context whose every call is a moment of its own. */
  alone(): Context {
    return {
      store: this.#stores[0] as Store,
      raced: false,
      next: async () => {
        const step = ++this.#moment * STEPS_A_MOMENT;
        await this.#connection(0).begin(step);
        return step;
      },
    };
  }

  /** Contexts of one moment: time stands still in it, or is moved beside them. */
  async together(count: number): Promise<Context[]> {
    await this.database.advance(1);
    const moment = ++this.#moment * STEPS_A_MOMENT;
    return Array.from({ length: count }, (_, lane) => {
      let step = moment + lane * (STEPS_A_MOMENT / count);
      return {
        store: this.#stores[lane] as Store,
        raced: true,
        next: async () => {
          await this.#connection(lane).mark(step);
          return step++;
        },
      };
    });
  }

  #connection(lane: number): ProofConnection {
    return this.database.connections[lane] as ProofConnection;
  }

  /** One call of the store. Undefined: it failed, which is written down. */
  async call<Answer>(
    context: Context,
    act: string,
    about: Record<string, unknown>,
    work: (store: Store) => Promise<Answer>,
  ): Promise<Answer | undefined> {
    const step = await context.next();
    const askedAt = this.nowMs();
    try {
      const answer = await work(context.store);
      this.note({ step, act, raced: context.raced, about, answer, askedAt });
      return answer;
    } catch (error) {
      this.errors.push(`${act} ${JSON.stringify(about)}: ${(error as Error).message}`);
      this.note({ step, act, raced: context.raced, about, answer: { failed: (error as Error).message }, askedAt });
      return undefined;
    }
  }

  /** As `call`, for a request over a network: it may arrive again. */
  async send<Answer>(
    context: Context,
    act: string,
    about: Record<string, unknown>,
    work: (store: Store) => Promise<Answer>,
  ): Promise<Answer | undefined> {
    this.sent.push(again => this.call(again, act, about, work));
    return this.call(context, act, about, work);
  }

  note(step: Omit<Step, 'at' | 'serving'>): void {
    this.steps.push({ ...step, at: this.nowMs(), serving: this.#serving() });
  }

  /** Marks a place in the history at which rules hold that hold at no other. */
  async mark(context: Context, act: 'settled' | 'recovered', about: Record<string, unknown>): Promise<void> {
    this.note({ step: await context.next(), act, raced: false, about, askedAt: this.nowMs() });
  }

  #serving(): Serving[] {
    return [...this.processes.values()].flatMap(each =>
      each.phase === 'open' && each.job !== null && each.ownUntilMs > this.nowMs()
        ? [{ runner: each.id, session: each.job.session, epoch: each.job.epoch }]
        : [],
    );
  }

  /** An answer gave a runner the milliseconds left, counted from when it asked. */
  told(process: Process, remainingMs: number, askedAtMs: number): void {
    process.ownUntilMs = askedAtMs + remainingMs - MARGIN_MS;
  }

  /** A process reads its clock before it acts: one whose time is over closes. */
  readsClock(process: Process): void {
    if (process.phase === 'open' && process.ownUntilMs <= this.nowMs()) process.phase = 'closed';
  }

  record(changes: HistoryRecord['changes']): HistoryRecord {
    const { setup, errors } = this;
    const steps = this.steps.toSorted((a, b) => a.step - b.step);
    return { setup, provider: PROVIDER, template: TEMPLATE, steps, changes, errors };
  }
}

export const leaseOf = (process: Process): LeaseKey => ({
  session_id: process.job?.session ?? randomUUID(),
  epoch: process.job?.epoch ?? 0,
  runner_id: process.id,
});

function storeOn(database: ProofConnection, setup: Setup): Store {
  return {
    leases: sqlLeases(database, {
      userLimit: setup.userLimit,
      onUserLimit: setup.evicts ? 'evict_oldest' : 'reject',
      maxSessionSeconds: SECONDS.maxSession,
      claimSeconds: SECONDS.claim,
      startSeconds: SECONDS.start,
      hibernate: setup.hibernates ? 'expiry' : 'never',
      keepFiles: 'none',
    }),
    fleet: sqlFleet(database, { graceSeconds: setup.hibernates ? 25 : 0 }),
    broker: sqlBroker(database),
    profiles: sqlProfiles(database),
    hibernations: sqlHibernations(database),
    maintenance: sqlMaintenance(database, { startSeconds: SECONDS.start }),
  };
}
