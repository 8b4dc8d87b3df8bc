import { expect } from 'vitest';
import { textOf } from '../../../runner/results/result.ts';
import { defineCase, type Step } from '../case.ts';

const nights = new Set<string>();
let from = 1;

/** Reads on from where the answer before was cut. */
const next: Step = {
  tool: 'browser_snapshot',
  get args() {
    return from === 1 ? {} : { from };
  },
  check(result) {
    const text = textOf(result);
    for (const [night] of text.matchAll(/Night \d+:/g)) nights.add(night);
    from = Number(/browser_snapshot from (\d+)/.exec(text)?.[1] ?? 1);
  },
};

export default defineCase({
  title: 'an answer that is cut says from where to read on, and the next one begins there',
  steps: () => [...Array.from({ length: 7 }, () => next), { ...next, check: () => expect(nights.size).toBe(400) }],
});
