import type { Artifact, EventPage, ListQuery } from '../../contract/session.ts';
import type { RunnerRow, SessionRow } from './rows.ts';

export interface Census {
  active: number;
  starting: number;
  runners: Record<string, number>;
  capacity: number;
  /** Leases that ended, by reason, and recordings, by what became of them: totals since the first day. */
  ended: Record<string, number>;
  recordings: Record<string, number>;
}

/** Reads. `userId`: sessions of others are not found. */
export interface Directory {
  session(sessionId: string, userId: string | null): Promise<SessionRow | null>;
  /** False while a living claimer works at the start of this epoch. */
  settled(sessionId: string, epoch: number): Promise<boolean>;
  runner(runnerId: string): Promise<RunnerRow | null>;
  /** Newest first. Throws `invalid_request` for a cursor that this did not issue. */
  list(query: ListQuery): Promise<{ sessions: SessionRow[]; nextCursor: string | null }>;
  events(sessionId: string, query: { limit: number; cursor?: string | undefined }): Promise<EventPage>;
  artifacts(sessionId: string): Promise<Artifact[]>;
  archive(sessionId: string, userId: string | null): Promise<SessionRow | null>;
  census(): Promise<Census>;
}
