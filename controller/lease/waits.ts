import type { Clock } from '../../time/clock.ts';
import type { FindAwaited } from '../store/awaited.ts';
import type { Directory } from '../store/directory.ts';
import type { RunnerRow } from '../store/rows.ts';
import { Wake } from '../wake.ts';
import { SharedWait } from './shared-wait.ts';

/** A start from a warm runner takes some 50 ms. */
const START_REST = { firstMs: 25, maxMs: 250, factor: 1.5, jitter: 0.4 };
/** An end that another replica drains. */
const END_REST = { firstMs: 250, maxMs: 250, jitter: 0 };
/** A person answers after seconds or minutes: an answer at this replica is passed on at once, one at another by the next look. */
const PERSON_REST = { firstMs: 1_000, maxMs: 1_000, jitter: 0 };

/** Everything for which requests of this process wait. */
export class Waits {
  /** Runners that are being created, by id; null: without a row. */
  readonly created: SharedWait<RunnerRow | null>;
  /** Starts that another caller leads, by session and epoch. */
  readonly starts: SharedWait<true>;
  /** Sessions and epochs up to which no runner may act any more. */
  readonly unserved: SharedWait<true>;
  /** Sessions and their user actions that are closed. */
  readonly userActions: SharedWait<true>;
  /** Kicked when a session was changed in this process: for what follows all of them. */
  readonly sessions = new Wake();
  /** Kicked when an agent asked its person in this process, or was answered. */
  readonly questions = new Wake();

  constructor(directory: Pick<Directory, 'createdRunners'>, find: FindAwaited, clock: Clock) {
    const keysOf = (finder: FindAwaited[keyof FindAwaited]) => async (keys: readonly string[]) => {
      const found = await finder(keys.map(readKey));
      return new Map(found.map(place => [keys[place] ?? '', true as const]));
    };
    this.created = new SharedWait({ look: ids => directory.createdRunners(ids), rest: START_REST, clock });
    this.starts = new SharedWait({ look: keysOf(find.settledStarts), rest: START_REST, clock });
    this.unserved = new SharedWait({ look: keysOf(find.unserved), rest: END_REST, clock });
    this.userActions = new SharedWait({ look: keysOf(find.closedUserActions), rest: PERSON_REST, clock });
  }

  /** This session was changed in this process: who waits for it looks. */
  changed(sessionId: string): void {
    this.sessions.kick();
    this.unserved.changed(sessionId);
    this.userActions.changed(sessionId);
  }

  /** No runner may act in this epoch of a session, nor in an earlier one: known from its runner's acknowledgement. */
  markUnserved(sessionId: string, epoch: number): void {
    this.unserved.settle(sessionId, key => (Number(readKey(key)[1]) <= epoch ? true : undefined));
  }

  /** A start of this process has ended. */
  markSettled(sessionId: string, epoch: number): void {
    const settled = waitKey(sessionId, epoch);
    this.starts.settle(sessionId, key => (key === settled ? true : undefined));
  }

  /** A user action was answered in this process. */
  markClosed(sessionId: string, actionId: string): void {
    this.sessions.kick();
    this.questions.kick();
    const closed = waitKey(sessionId, actionId);
    this.userActions.settle(sessionId, key => (key === closed ? true : undefined));
  }
}

/** `part`: an epoch of the session, or a user action. */
export const waitKey = (sessionId: string, part: number | string): string => `${sessionId}/${part}`;

function readKey(key: string): readonly [sessionId: string, part: string] {
  const [sessionId = '', part = ''] = key.split('/');
  return [sessionId, part];
}
