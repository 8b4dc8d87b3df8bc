/** The rules of docs/proof.md over one history, in commit order. */
import { mayMove, NEXT_RUNNER_STATES } from '../../contract/states.ts';
import type { Change } from './change-log.ts';
import { isOn, Ledger, type ProfileState, type RunnerState, type SessionState } from './ledger.ts';
import { type LineBefore, LineRules } from './line-rules.ts';
import { type HistoryRecord, SECONDS, STEPS_A_MOMENT, type Step, type Violation } from './record.ts';
import { RULES, type RuleName } from './rule-names.ts';

/** Every rule that the history broke, the first break first. */
export function judge(record: HistoryRecord): Violation[] {
  const court = new Court(record);
  court.run();
  return court.violations;
}

const NOBODY_KNOWS = { act: 'none', raced: false, about: {}, askedAt: 0, at: 0, serving: [] };

/** The step of a moment that ended last: time passes beside one that waits for a lock, and the rows are those of its end. */
const lastOf = (steps: readonly Step[]): Step => steps.reduce((last, step) => (step.at >= last.at ? step : last));

/** The epoch up to which, by this answer, no runner serves any more: a DELETE returns then. */
function epochUnserved({ act, about, answer }: Step): number | null {
  if (act === 'mayAct' && answer === false) return Number(about.epoch);
  if (act === 'acknowledge' && answer === true) return Number(about.epoch);
  const ended = answer as { served?: boolean; session?: { epoch: number } } | undefined;
  if (act === 'delete' && ended?.served === false) return Number(about.epoch ?? ended.session?.epoch);
  return null;
}

class Court {
  readonly violations: Violation[] = [];
  readonly #ledger = new Ledger();
  readonly #record: HistoryRecord;
  readonly #steps: ReadonlyMap<number, Step>;
  readonly #line: LineRules;
  /** Steps that took a place, by their numbers: not those that found or inherited a runner. */
  readonly #took = new Set<number>();
  #step: Step = { ...NOBODY_KNOWS, step: -1 };

  constructor(record: HistoryRecord) {
    this.#record = record;
    this.#line = new LineRules(this.#ledger, record.template, (...rule) => this.#require(...rule));
    this.#steps = new Map(record.steps?.map(step => [step.step, step]));
  }

  /** Rules that speak of what was asked hold only where that is known. */
  get #isTold(): boolean {
    return this.#record.steps !== null;
  }

  run(): void {
    for (const error of this.#record.errors) this.#fail('noError', error);
    const { changes, steps: all } = this.#record;
    if (all === null) {
      this.#runUntold();
      return;
    }
    let next = 0;
    const applyUntil = (step: number | null) => {
      for (; next < changes.length; next++) {
        const change = changes[next] as Change;
        if (change.step === null ? step !== null : step !== null && change.step > step) return;
        this.#change(change);
      }
    };
    while (next < changes.length && changes[next]?.step === null) this.#change(changes[next++] as Change);
    const moments = Map.groupBy(all, ({ step }) => Math.floor(step / STEPS_A_MOMENT));
    for (const steps of moments.values()) {
      const before = this.#line.before();
      applyUntil((Math.floor((steps[0]?.step ?? 0) / STEPS_A_MOMENT) + 1) * STEPS_A_MOMENT - 1);
      for (const step of steps) {
        this.#step = step;
        this.#answer(step, before);
      }
      this.#state(lastOf(steps));
    }
    applyUntil(null);
  }

  /** Rules of the rows are asked between two changes where no transaction is seen in part. */
  #runUntold(): void {
    const { changes } = this.#record;
    const last = new Map(changes.map(({ tx, seq }) => [tx, seq]));
    const open = new Set<number>();
    for (const change of changes) {
      this.#change(change);
      open.add(change.tx);
      if (last.get(change.tx) === change.seq) open.delete(change.tx);
      if (open.size === 0) this.#state({ ...this.#step, at: change.at });
    }
    this.#recovered([...this.#ledger.sessions.values()]);
  }

  #fail(rule: RuleName, detail: string): void {
    const { step } = this.#step;
    this.violations.push({ rule: RULES[rule], step: step < 0 ? null : step, detail });
  }

  #require(rule: RuleName, holds: boolean, detail: () => string): void {
    if (!holds) this.#fail(rule, detail());
  }

  #change(change: Change): void {
    this.#step = this.#steps.get(change.step ?? -1) ?? { ...NOBODY_KNOWS, step: change.step ?? -1, at: change.at };
    const { key, row, at } = change;
    if (change.tab === 'browser_sessions' && row !== null)
      this.#session(this.#ledger.sessions.get(key), { ...row, id: key } as unknown as SessionState, at);
    if (change.tab === 'runners' && row !== null)
      this.#runner(this.#ledger.runners.get(key), { ...row, id: key } as unknown as RunnerState, at);
    if (change.tab === 'profiles' && row !== null)
      this.#profile(this.#ledger.profiles.get(key), { ...row, id: key } as unknown as ProfileState, at);
    if (change.tab === 'waiting_callers' && row === null && this.#isTold) this.#line.leaves(key, at, this.#step);
    this.#ledger.apply(change);
  }

  #session(old: SessionState | undefined, s: SessionState, at: number): void {
    const about = () => `session ${s.id} e${old?.epoch} ${old?.status} to e${s.epoch} ${s.status} by ${this.#step.act}`;
    const claims = old === undefined || s.epoch !== old.epoch;
    if (claims) this.#require('epochRises', s.status === 'starting' && s.epoch === (old?.epoch ?? 0) + 1, about);
    this.#require('withinAge', !isOn(s) || s.expires_at <= s.ends_at, about);
    if (old === undefined) return;
    if (claims) {
      this.#replaces(old, at, about);
      return;
    }
    if (s.status === 'ready' && old.status !== 'ready') {
      const { claim, epoch } = this.#step.about;
      const asked = this.#step.act !== 'ready' || (claim === old.claim_id && epoch === s.epoch);
      this.#require('grantCurrent', old.status === 'starting' && this.#isHeld(s) && asked, about);
      this.#require('grantUnexpired', old.expires_at > at, about);
    }
    if (isOn(old) && isOn(s) && s.expires_at > old.expires_at)
      this.#require('noRevival', old.expires_at > at, () => `${about()}, expired ${at - old.expires_at} ms ago`);
    if (s.status === 'starting' && old.status !== 'starting') this.#fail('epochRises', about());
    if (isOn(old) && s.expires_at !== old.expires_at && ['heartbeat', 'report'].includes(this.#step.act))
      this.#require('endForReason', [null, s.epoch].includes(this.#step.about.epoch as number | null), about);
    if (s.status === old.status) return;
    if (!isOn(s)) this.#ends(old, s, at, about);
  }

  /** Whether the session's runner is leased to this epoch. */
  #isHeld({ id, epoch, runner_id }: SessionState): boolean {
    const runner = this.#ledger.runners.get(runner_id);
    return (
      runner?.state === 'leased' && runner.session_id === id && runner.epoch === epoch && runner.redeemed_at !== null
    );
  }

  /** A claim of a session whose epoch before may still be alive. */
  #replaces(old: SessionState, at: number, about: () => string): void {
    const { switches, abandon } = this.#step.about;
    if (!this.#isTold || !isOn(old) || old.expires_at <= at || switches === true || (abandon ?? null) === old.claim_id)
      return;
    const runner = this.#ledger.runners.get(old.runner_id);
    const runs = runner !== undefined && ['creating', 'claimed', 'leased'].includes(runner.state);
    if (old.status === 'ready') this.#require('liveStays', !this.#isHeld(old), about);
    else {
      const young = at < (old.starting_since ?? 0) + SECONDS.start * 1_000;
      this.#require('liveStays', !(runs && young && (old.claim_until ?? 0) > at), about);
    }
  }

  #ends(old: SessionState, s: SessionState, at: number, about: () => string): void {
    const { act, about: step } = this.#step;
    this.#require('endDropsClaim', s.claim_id === null, about);
    const isExpired = old.expires_at <= at;
    const named = step.epoch === undefined || step.epoch === null || step.epoch === old.epoch;
    if (s.status === 'hibernated' && old.status === 'ready') {
      const idle = at - old.last_used_at;
      this.#require('endForReason', !this.#isTold || (act === 'hibernate' && named), about);
      this.#require('hibernatesIdle', idle >= Number(step.idleMs ?? 0), () => `${about()}, used ${idle} ms ago`);
      return;
    }
    const keeps = old.status === 'starting' && (old.hibernated_until ?? 0) > at && s.status !== 'hibernated';
    if (keeps && act !== 'delete' && this.#isTold) this.#fail('restoreCosts', about());
    const isStuck = (old.starting_since ?? at) <= at - SECONDS.start * 1_000;
    // A restore that is evicted leaves its session hibernated, as any restore that fails.
    const isEvicted = s.ended_reason === 'evicted' || (old.status === 'starting' && s.status === 'hibernated');
    const holds: Record<string, () => boolean> = {
      delete: () => named,
      fail: () => named && old.status === 'starting' && old.claim_id === step.claim,
      expire: () => isExpired,
      stuck: () => old.status === 'starting' && isStuck,
      lost: () => old.runner_id === step.runner,
      ask: () => isEvicted && (this.#record.setup.evicts || old.released_at !== null),
      makeRoom: () => old.status === 'ready' && old.released_at !== null,
      recover: () => true,
    };
    this.#require('endForReason', !this.#isTold || (holds[act]?.() ?? false), () => `${about()}, ${s.ended_reason}`);
  }

  #runner(old: RunnerState | undefined, r: RunnerState, at: number): void {
    const about = () => `runner ${r.id} ${old?.state} to ${r.state} by ${this.#step.act}`;
    if (old === undefined) {
      this.#require('forward', r.state === 'creating', about);
      return;
    }
    if (old.session_id === null && r.session_id !== null) this.#took.add(this.#step.step);
    if (r.state !== old.state) this.#require('forward', mayMove(NEXT_RUNNER_STATES, old.state, r.state), about);
    const moved = r.session_id !== old.session_id || r.epoch !== old.epoch;
    if (moved) this.#require('oneOwner', old.assigned_at === null && old.redeemed_at === null, about);
    if (old.deadline_at !== null) this.#require('deadlineRises', (r.deadline_at ?? 0) >= old.deadline_at, about);
    if (this.#step.act === 'pool' && r.state === 'draining' && old.state !== 'draining')
      this.#require('poolSpares', old.session_id === null, about);
    if (old.redeemed_at === null && r.redeemed_at !== null) this.#redeems(old, r, at, about);
    else if (old.redeemed_at !== null)
      this.#require('secretsOnce', r.redemption_key === old.redemption_key && r.redeemed_at === old.redeemed_at, about);
  }

  #redeems(old: RunnerState, r: RunnerState, at: number, about: () => string): void {
    const session = this.#ledger.sessions.get(r.session_id ?? '');
    const { claim, boot } = this.#step.about;
    const current =
      session?.status === 'starting' &&
      session.epoch === r.epoch &&
      session.runner_id === r.id &&
      session.expires_at > at &&
      (!this.#isTold || (session.claim_id === claim && r.boot_id === boot));
    this.#require('secretsOnce', current && old.state === 'claimed', about);
    const before = [...this.#ledger.runners.values()].filter(
      each => each.session_id === r.session_id && (each.epoch ?? 0) < (r.epoch ?? 0) && each.redeemed_at !== null,
    );
    const acts = before.find(
      each => each.state !== 'gone' && each.acknowledged_at === null && (each.deadline_at ?? 0) > at,
    );
    this.#require('awaitsPredecessor', acts === undefined, () => `${about()}; runner ${acts?.id} may still act`);
  }

  #profile(old: ProfileState | undefined, p: ProfileState, at: number): void {
    const about = () => `profile ${p.name} v${old?.version} to v${p.version} by ${this.#step.act}`;
    if (old === undefined) return;
    if (this.#isTold && p.version !== old.version) {
      const { runner, base } = this.#step.about;
      const isNext = p.version === old.version + 1 && base === old.version;
      this.#require('writerSaves', isNext && old.writer !== null && old.writer === runner, about);
    }
    if (p.session_id !== null || old.writer === null || p.writer === null || p.writer === old.writer) return;
    const before = this.#ledger.runners.get(old.writer);
    const since = before?.draining_at ?? before?.deadline_at ?? 0;
    this.#require(
      'writerSaves',
      before === undefined || before.state === 'gone' || since <= at - 20_000,
      () => `${about()}; the writer before, ${old.writer}, may still save`,
    );
  }

  #answer(step: Step, before: LineBefore): void {
    const { act, about, at, raced } = step;
    const answer = (step.answer ?? {}) as Record<string, unknown>;
    if (act === 'ask') this.#line.asked(step, before, this.#took.has(step.step));
    if (act === 'leave') this.#line.left(step);
    if (act === 'look') this.#line.looked(step, before);
    if (typeof answer.remainingMs === 'number' && !raced) {
      const runner = this.#ledger.runners.get(String(about.runner));
      const until = at + answer.remainingMs;
      this.#require(
        'deadlineRises',
        (runner?.deadline_at ?? 0) >= until - 1,
        () => `runner ${about.runner} was told ${until}, its row says ${runner?.deadline_at}`,
      );
    }
    const serving = Map.groupBy(step.serving, ({ session }) => session);
    for (const [session, each] of serving)
      this.#require('oneServes', each.length === 1, () => `session ${session}: ${each.map(({ runner }) => runner)}`);
    const unserved = raced ? null : epochUnserved(step);
    const acts = step.serving.find(each => each.session === about.session && each.epoch <= (unserved ?? 0));
    this.#require('oneServes', acts === undefined, () => `runner ${acts?.runner} serves after DELETE`);
  }

  /** Rules of the rows between two moments. */
  #state(step: Step): void {
    this.#step = step;
    const { setup } = this.#record;
    const { at } = step;
    const sessions = [...this.#ledger.sessions.values()];
    const live = sessions.filter(each => isOn(each) && each.expires_at > at);
    for (const [user, own] of Map.groupBy(live, ({ user_id }) => user_id))
      this.#require('quota', own.length <= setup.userLimit, () => `${user} has ${own.length}`);
    for (const [writes, own] of Map.groupBy(
      live.filter(({ profile }) => profile?.mode === 'read-write'),
      ({ user_id, profile }) => `${user_id}/${profile?.name}`,
    ))
      this.#require('oneWriter', own.length === 1, () => `${writes} has ${own.length}`);
    const lined = [...this.#ledger.waiting.values()].filter(each => Math.max(each.waits_until, each.kept_until) > at);
    for (const [user, own] of Map.groupBy(lined, ({ user_id }) => user_id))
      this.#require('lineQuota', own.length <= setup.userLimit, () => `${user} has ${own.length} in the line`);
    this.#places();
    for (const session of sessions) this.#owns(session);
    if (step.act === 'settled') this.#line.settled(step);
    if (step.act === 'recovered') this.#recovered(sessions);
  }

  #places(): void {
    const { setup } = this.#record;
    const running = [...this.#ledger.runners.values()].filter(({ state }) => state !== 'gone');
    const holders = [...this.#ledger.permits.values()].filter(runner => runner !== null);
    const unheld = running.filter(({ id }) => holders.filter(holder => holder === id).length !== 1);
    this.#require(
      'capacity',
      holders.length <= setup.capacity && unheld.length === 0 && holders.length === running.length,
      () => `${running.length} runners, ${holders.length} permits of ${setup.capacity}`,
    );
    const epochs = new Set<string>();
    for (const { session_id, epoch } of this.#ledger.runners.values()) {
      if (session_id === null) continue;
      const key = `${session_id} ${epoch}`;
      this.#require('oneRunner', !epochs.has(key), () => `session and epoch ${key} have two`);
      epochs.add(key);
    }
  }

  #owns(session: SessionState): void {
    const about = () => `session ${session.id} e${session.epoch} ${session.status}`;
    const snapshot = [...this.#ledger.profiles.values()].find(
      ({ session_id, version }) => session_id === session.id && version > 0,
    );
    if (session.status === 'hibernated') this.#require('snapshotKept', snapshot !== undefined, about);
    else if (session.status !== 'starting') this.#require('snapshotKept', snapshot === undefined, about);
    if (!isOn(session)) return;
    const runner = this.#ledger.runners.get(session.runner_id);
    this.#require('oneRunner', runner?.session_id === session.id && runner.epoch === session.epoch, about);
  }

  #recovered(sessions: readonly SessionState[]): void {
    const starting = sessions.filter(isOn);
    const running = [...this.#ledger.runners.values()].filter(({ state }) => state !== 'gone');
    const held = [...this.#ledger.permits.values()].filter(runner => runner !== null);
    this.#require(
      'recovers',
      starting.length + running.length + held.length === 0,
      () => `${starting.length} sessions on, ${running.length} runners, ${held.length} permits held`,
    );
  }
}
