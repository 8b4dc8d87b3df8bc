import type { Needle } from './needles.ts';
import type { TextView } from './view.ts';

/** A place in a view at which a value stands. */
export interface NeedleRun {
  readonly needle: Needle;
  readonly start: number;
  readonly end: number;
  readonly isWhole: boolean;
}

/** From where to where of the source. */
export interface SourceSpan {
  readonly from: number;
  readonly to: number;
}

/** Characters that may stand between two pieces of a value that are taken for one. */
const GAP_MAX = 400;
/** Pieces this long together are not distinguished from words by chance. */
const PIECES_MIN = 8;

/**
 * The runs of a needle in a view that are long enough. About linear in the view: every such run has one of the needle's
 * anchors in it, and is grown from there.
 */
export function* hitsIn(view: TextView, needle: Needle): Generator<NeedleRun> {
  const size = Math.ceil(needle.size / 2);
  const step = needle.size - size + 1;
  for (let offset = 0; offset + size <= needle.text.length; offset += step)
    yield* hitsAround(view, needle, offset, size);
}

/** Those in which the needle's part of this size at this offset is. */
function* hitsAround(view: TextView, needle: Needle, offset: number, size: number): Generator<NeedleRun> {
  const { text } = view;
  const wanted = needle.text;
  const anchor = wanted.slice(offset, offset + size);
  for (let at = text.indexOf(anchor); at !== -1; ) {
    const origin = at - offset;
    let start = at;
    let end = at + size;
    while (start > origin && start > 0 && text[start - 1] === wanted[start - 1 - origin]) start -= 1;
    while (end < origin + wanted.length && text[end] === wanted[end - origin]) end += 1;
    const isLong = end - start >= needle.size;
    if (isLong && hangsTogether(view, start, end, wanted.length)) yield run(needle, start, end);
    else if (isLong)
      // Text beside the pieces may look like the next of them.
      for (let first = start; first + needle.size <= end; first += 1)
        if (hangsTogether(view, first, first + needle.size, wanted.length))
          yield run(needle, first, first + needle.size);
    // In a text that repeats itself the next run is the same one, moved on.
    at = text.indexOf(anchor, isLong ? Math.max(at + 1, end - size) : at + 1);
  }
}

const run = (needle: Needle, start: number, end: number): NeedleRun => ({
  needle,
  start,
  end,
  isWhole: end - start === needle.text.length,
});

/** Runs that overlap as one, named by what was found whole, else by what was found most of. */
export function mergeRuns(runs: Iterable<NeedleRun>): NeedleRun[] {
  const found: NeedleRun[] = [];
  for (const each of runs) {
    const last = found.at(-1);
    // In a text that repeats itself there are as many as letters.
    if (last !== undefined && last.needle === each.needle && each.start >= last.start && each.start < last.end)
      found[found.length - 1] = unionOf(last, each);
    else found.push(each);
  }
  found.sort((a, b) => a.start - b.start || b.end - a.end);
  const all: NeedleRun[] = [];
  for (const each of found) {
    const last = all.at(-1);
    if (last !== undefined && each.start < last.end) all[all.length - 1] = unionOf(last, each);
    else all.push(each);
  }
  return all;
}

const unionOf = (one: NeedleRun, other: NeedleRun): NeedleRun => ({
  ...(isBetter(other, one) ? other : one),
  start: Math.min(one.start, other.start),
  end: Math.max(one.end, other.end),
});

const isBetter = (one: NeedleRun, other: NeedleRun): boolean =>
  one.isWhole === other.isWhole ? one.end - one.start > other.end - other.start : one.isWhole;

/** Places of the view's characters in the source, without the text between them. */
export function findSpans({ from, to }: TextView, start: number, end: number): SourceSpan[] {
  const parts: { from: number; to: number }[] = [];
  for (let at = start; at < end; at += 1) {
    const part = { from: from[at] ?? 0, to: Math.max(to[at] ?? 0, from[at] ?? 0) };
    const last = parts.at(-1);
    if (last !== undefined && part.from >= last.from && part.from <= last.to) last.to = Math.max(last.to, part.to);
    else parts.push(part);
  }
  return parts;
}

/** Whether what stands between the pieces of a run makes it a value in pieces, not words that happen to have it. */
function hangsTogether({ from, to }: TextView, start: number, end: number, whole: number): boolean {
  let gaps = 0;
  let steps = 0;
  for (let at = start + 1; at < end; at += 1) {
    if (from[at] !== from[at - 1]) steps += 1;
    const gap = (from[at] ?? 0) - (to[at - 1] ?? 0);
    if (gap > GAP_MAX) return false;
    if (gap > 0) gaps += 1;
  }
  const length = end - start;
  return gaps === 0 || length === whole || length >= PIECES_MIN || gaps >= steps;
}
