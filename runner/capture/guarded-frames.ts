import type { Page } from 'playwright-core';
import type { Clock } from '../../time/clock.ts';
import { isWithheld, type Pictures } from '../secrecy/pictures.ts';

export interface GuardedFrames<Frame> {
  /** One frame of the tab's screencast. */
  add(frame: Frame): void;
  end(): void;
}

export interface GuardedFramesOptions<Frame> {
  readonly page: Page;
  readonly pictures: Pictures;
  readonly show: (frame: Frame) => void;
  /** A picture of the tab as it is now. */
  readonly shoot: () => Promise<Frame>;
  readonly clock: Clock;
}

/** Between two looks at a tab that changes. */
const LOOK_EVERY_MS = 400;
/** A frame may be this old when it arrives: its page was painted before. */
const FRAME_AGE_MS = 2_000;
const HELD_MAX = 24;

/**
 * Frames of which is known that they show no value. A frame waits for the next look at the tab; it is shown if that
 * look and the one before found nothing in the same documents, and dropped otherwise. While a document is there into which a value was
 * filled, frames only say that something changed: what is shown then are pictures taken between two looks.
 */
export function guardedFrames<Frame>({
  page,
  pictures,
  show,
  shoot,
  clock,
}: GuardedFramesOptions<Frame>): GuardedFrames<Frame> {
  const ended = new AbortController();
  let held: Frame[] = [];
  let running = false;
  let changed = false;
  /** Since then every look found nothing; undefined: the last one found something. */
  let clearSinceMs: number | undefined;
  let documentsBefore: string | undefined;

  async function once(): Promise<void> {
    changed = false;
    const waiting = held;
    held = [];
    const { shown, settled, documents } = await pictures.look(page);
    if (ended.signal.aborted) return;
    if (documents !== documentsBefore) clearSinceMs = undefined;
    documentsBefore = documents;
    const now = clock.nowMs();
    if (shown === undefined && settled) {
      clearSinceMs ??= now;
      // Pictures that arrive until then may have been painted before the first of these looks.
      if (now - clearSinceMs > FRAME_AGE_MS) {
        for (const frame of waiting) show(frame);
        return;
      }
    } else clearSinceMs = undefined;
    const picture = await pictures.take(page, shoot).catch(() => undefined);
    if (ended.signal.aborted) return;
    if (picture === undefined || isWithheld(picture)) changed = true;
    else show(picture);
  }

  async function run(): Promise<void> {
    running = true;
    try {
      while (changed && !ended.signal.aborted) {
        await once();
        await clock.sleep(LOOK_EVERY_MS, ended.signal, true);
      }
    } catch {
      // it has ended
    } finally {
      running = false;
    }
  }

  return {
    add(frame) {
      if (ended.signal.aborted) return;
      held.push(frame);
      if (held.length > HELD_MAX) held.shift();
      changed = true;
      if (!running) void run();
    },
    end: () => ended.abort(),
  };
}
