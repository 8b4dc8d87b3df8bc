import { describeOwnMachineSettings, isSiteFailure, REFUSALS, type RefusalCode } from '../../contract/egress.ts';
import type { Refusal } from '../../contract/tool-failure.ts';
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

/** A page that did not come, as the result of the call that asked for it. */
export function refusedPage(refusal: EgressRefusal): Refusal {
  const { code } = refusal;
  return {
    code: isRefusalCode(code) && !isSiteFailure(code) ? code : 'action_failed',
    why: factOf(refusal),
    instead: remedyOf(refusal) ?? adviceOf(code),
  };
}

function adviceOf(code: string): string {
  if (code === 'https_only') return 'Open the https address of the site.';
  return isSiteFailure(code) ? ANOTHER_SITE : ASK_OPERATOR;
}

const ANOTHER_SITE = 'Check the address; the site may be down.';
const ASK_OPERATOR = 'An agent cannot pass this by: use another site, or ask the person (browser_request_user_action).';

function describeRefusal(refusal: EgressRefusal): string {
  const remedy = remedyOf(refusal);
  return `${factOf(refusal)}${remedy === undefined ? '' : ` ${remedy}`}`;
}

function remedyOf({ code, authority }: EgressRefusal): string | undefined {
  const [, host = authority, port = '80'] = /^(.*?)(?::(\d+))?$/.exec(authority) ?? [];
  return describeOwnMachineSettings(code, host, Number(port));
}

const factOf = ({ code, authority }: EgressRefusal): string => `${authority}: ${sentenceOf(code)} (${code})`;

const isRefusalCode = (code: string): code is RefusalCode => Object.hasOwn(REFUSALS, code);

const sentenceOf = (code: string): string =>
  isRefusalCode(code) ? REFUSALS[code].sentence : 'The egress proxy did not let this through.';
