import type { Change, TableName } from './change-log.ts';

export interface SessionState {
  id: string;
  user_id: string;
  conversation_id: string;
  provider: string;
  status: 'starting' | 'ready' | 'hibernated' | 'ended' | 'error';
  epoch: number;
  runner_id: string;
  claim_id: string | null;
  ended_reason: string | null;
  claim_until: number | null;
  starting_since: number | null;
  expires_at: number;
  ends_at: number;
  hibernated_until: number | null;
  last_used_at: number;
  released_at: number | null;
  profile: { name: string; mode: string } | null;
}

export interface RunnerState {
  id: string;
  provider: string;
  template: string;
  state: 'creating' | 'warm' | 'claimed' | 'leased' | 'draining' | 'gone';
  session_id: string | null;
  epoch: number | null;
  boot_id: string | null;
  redemption_key: string | null;
  assigned_at: number | null;
  redeemed_at: number | null;
  acknowledged_at: number | null;
  deadline_at: number | null;
  draining_at: number | null;
  launched_at: number | null;
}

export interface WaitingState {
  place: string;
  user_id: string;
  conversation_id: string;
  waits_until: number;
  kept_until: number;
}

export interface ProfileState {
  id: string;
  user_id: string;
  name: string;
  session_id: string | null;
  version: number;
  writer: string | null;
}

/** The rows as they were after each commit. */
export class Ledger {
  readonly sessions = new Map<string, SessionState>();
  readonly runners = new Map<string, RunnerState>();
  /** By slot: the runner that holds it. */
  readonly permits = new Map<string, string | null>();
  readonly waiting = new Map<string, WaitingState>();
  readonly profiles = new Map<string, ProfileState>();

  /** Writes one change down. */
  apply({ tab, key, row }: Change): void {
    if (tab === 'permits') {
      if (row === null) this.permits.delete(key);
      else this.permits.set(key, row.runner_id as string | null);
      return;
    }
    const table = this.#tables[tab] as Map<string, unknown>;
    if (row === null) table.delete(key);
    else table.set(key, tab === 'waiting_callers' ? { ...row, place: key } : { ...row, id: key });
  }

  readonly #tables: Record<Exclude<TableName, 'permits'>, Map<string, unknown>> = {
    browser_sessions: this.sessions,
    runners: this.runners,
    waiting_callers: this.waiting,
    profiles: this.profiles,
  };

  /** Warm runners, those that the pool is making, and free permits. */
  freePlaces(template: string): number {
    let free = 0;
    for (const { state, session_id, template: own } of this.runners.values())
      if (state === 'warm' || (state === 'creating' && session_id === null && own === template)) free += 1;
    for (const runner of this.permits.values()) if (runner === null) free += 1;
    return free;
  }

  /** In the order of the line. */
  line(): WaitingState[] {
    return [...this.waiting.values()].sort((a, b) => Number(a.place) - Number(b.place));
  }

  placeOf(user: string, conversation: string): WaitingState | undefined {
    return [...this.waiting.values()].find(each => each.user_id === user && each.conversation_id === conversation);
  }
}

/** Starting or ready: it has a runner. */
export const isOn = ({ status }: { status: SessionState['status'] }): boolean =>
  status === 'starting' || status === 'ready';
