import { describeOwnMachineSettings, isSiteFailure, REFUSALS } from '../../contract/egress.ts';
import type { EgressForwarder, EgressRefusal } from './egress-forwarder.ts';

const REFUSALS_SHOWN_MAX = 5;

/** Chromium shows a refused tunnel as a failed connection: here the agent reads why. */
export function refusedOnTheWayOut(refusals: EgressForwarder['refusals'], sinceMs: number): string[] {
  const recent = refusals.filter(({ atMs }) => atMs >= sinceMs);
  return [
    ...listRefusals(
      'Refused on the way out:',
      recent.filter(({ code }) => !isSiteFailure(code)),
    ),
    ...listRefusals(
      'Not reached:',
      recent.filter(({ code }) => isSiteFailure(code)),
    ),
  ];
}

function listRefusals(heading: string, refusals: readonly EgressRefusal[]): string[] {
  const unique = [...new Set(refusals.map(describeRefusal))];
  if (unique.length === 0) return [];
  const shown = unique.slice(0, REFUSALS_SHOWN_MAX);
  const more = unique.length > shown.length ? [`and ${unique.length - shown.length} more`] : [];
  return [[heading, ...shown, ...more].join('\n')];
}

function describeRefusal({ code, authority }: EgressRefusal): string {
  const [, host = authority, port = '80'] = /^(.*?)(?::(\d+))?$/.exec(authority) ?? [];
  const remedy = describeOwnMachineSettings(code, host, Number(port));
  return `${authority}: ${sentenceOf(code)} (${code})${remedy === undefined ? '' : ` ${remedy}`}`;
}

const sentenceOf = (code: string): string =>
  Object.hasOwn(REFUSALS, code)
    ? REFUSALS[code as keyof typeof REFUSALS].sentence // checked in this line's condition
    : 'The egress proxy did not let this through.';
