import { REFUSALS } from '../../contract/egress.ts';
import type { EgressForwarder } from './egress-forwarder.ts';

const REFUSALS_SHOWN_MAX = 5;

/** Chromium shows a refused tunnel as a failed connection: here the agent reads why. */
export function refusedOnTheWayOut(refusals: EgressForwarder['refusals'], sinceMs: number): string[] {
  const lines = refusals
    .filter(({ atMs }) => atMs >= sinceMs)
    .map(({ code, authority }) => `${authority}: ${sentenceOf(code)} (${code})`);
  const unique = [...new Set(lines)];
  if (unique.length === 0) return [];
  const shown = unique.slice(0, REFUSALS_SHOWN_MAX);
  const more = unique.length > shown.length ? [`and ${unique.length - shown.length} more`] : [];
  return [['Refused on the way out:', ...shown, ...more].join('\n')];
}

const sentenceOf = (code: string): string =>
  Object.hasOwn(REFUSALS, code)
    ? REFUSALS[code as keyof typeof REFUSALS].sentence // checked in this line's condition
    : 'The egress proxy did not let this through.';
