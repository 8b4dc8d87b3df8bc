/** Rules of the line of callers. */
import type { Ledger, WaitingState } from './ledger.ts';
import type { Step } from './record.ts';
import type { Require } from './rule-names.ts';

/** Places that were free before a step, and the line. */
export interface LineBefore {
  readonly free: number;
  readonly line: readonly WaitingState[];
}

export class LineRules {
  readonly #ledger: Ledger;
  readonly #template: string;
  readonly #require: Require;
  /** By place in the line: until when its caller was asked to stay away. */
  readonly #promises = new Map<string, number>();

  constructor(ledger: Ledger, template: string, require: Require) {
    this.#ledger = ledger;
    this.#template = template;
    this.#require = require;
  }

  before(): LineBefore {
    return { free: this.#ledger.freePlaces(this.#template), line: this.#ledger.line() };
  }

  /** A row of the line was removed. */
  leaves(place: string, at: number, step: Step): void {
    const promised = this.#promises.get(place) ?? 0;
    this.#promises.delete(place);
    const { act, about } = step;
    const own = this.#ledger.waiting.get(place);
    const left = act === 'leave' && about.place === place;
    const claimed = act === 'ask' && about.user === own?.user_id && about.conversation === own?.conversation_id;
    const lease = act === 'ready' || act === 'redeem' ? this.#ledger.sessions.get(String(about.session)) : undefined;
    const served = lease && lease.user_id === own?.user_id && lease.conversation_id === own?.conversation_id; // by an earlier call
    this.#require(
      'keepsTurn',
      at >= promised || left || claimed || served === true,
      () => `place ${place} was lost ${promised - at} ms before its caller was to come back, by ${act}`,
    );
  }

  /** A caller left, to come back. */
  left({ about, answer, askedAt }: Step): void {
    const told = (answer ?? {}) as Record<string, unknown>;
    if (told.retryAfterMs !== undefined) this.#promise(String(about.place), told, askedAt);
  }

  /** `took`: it took a place, and did not find or inherit a runner. */
  asked(step: Step, { free, line }: LineBefore, took: boolean): void {
    const answer = (step.answer ?? {}) as Record<string, unknown>;
    const { about, at, raced } = step;
    const waits = (each: WaitingState) => each.waits_until > at;
    const isKept = (each: WaitingState) => waits(each) || each.kept_until >= at;
    const isOwn = (each: WaitingState) => each.user_id === about.user && each.conversation_id === about.conversation;
    const own = line.find(each => isOwn(each) && isKept(each));
    const ahead = own
      ? line.filter(each => Number(each.place) < Number(own.place) && waits(each))
      : line.filter(isKept);
    if (answer.outcome === 'claimed' && took && !raced)
      this.#require(
        'noOvertaking',
        ahead.length === 0 || free > ahead.length,
        () => `${about.user}/${about.conversation} took one of ${free} places before ${ahead.length} others`,
      );
    const theirs = (answer.session as { claim_id?: string } | undefined)?.claim_id;
    if (answer.outcome === 'starting' && !raced)
      this.#require('ownClaim', theirs !== about.claim, () => `claim ${theirs}`);
    if (answer.code !== 'capacity_exceeded') return;
    if (!raced)
      this.#require('noFreeRefused', free <= ahead.length, () => `${free} are free, and ${ahead.length} come first`);
    const place = String(answer.place);
    if (own && !raced) this.#require('keepsTurn', own.place === place, () => `place ${own.place} became ${place}`);
    this.#promise(place, answer, step.askedAt);
  }

  /** All that a replica holds were looked at; those that it called have asked. */
  looked({ about, answer, at, raced }: Step, { free, line }: LineBefore): void {
    if (raced) return;
    const held = about.places as string[];
    const called = new Set(answer as string[]);
    const first = line.filter(each => each.waits_until > at).slice(0, free);
    const forgotten = first.find(({ place }) => held.includes(place) && !called.has(place));
    this.#require(
      'noFreePlace',
      forgotten === undefined,
      () => `${free} are free, and ${forgotten?.place} is not called`,
    );
  }

  /** Every caller that a live replica holds was called while a place was free: the first of them has none to take. */
  settled({ about, at }: Step): void {
    const free = this.#ledger.freePlaces(this.#template);
    const held = about.places as string[];
    const waiting = this.#ledger.line().filter(each => each.waits_until > at);
    const ahead = waiting.findIndex(({ place }) => held.includes(place));
    if (ahead < 0) return;
    const abandoned = (about.abandoned as string[]).length;
    this.#require(
      'noFreePlace',
      free <= Math.min(ahead, abandoned),
      () => `${free} are free; ${waiting.length} wait, ${ahead} before the first that a replica holds`,
    );
  }

  #promise(place: string, answer: Record<string, unknown>, at: number): void {
    const ms = Number(answer.retryAfterMs);
    this.#require('keepsTurn', ms >= 1_000 && ms <= 30_000, () => `Retry-After of ${ms} ms`);
    this.#promises.set(place, at + ms);
  }
}
