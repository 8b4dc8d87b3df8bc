import type { EndReason, Session, SessionEvent } from '../../contract/session.ts';

/** Why a lease ended, for a reader who has not read the glossary. */
const ENDED: Record<EndReason, string> = {
  released: 'released by its platform or here',
  expired: 'not used within its idle TTL',
  max_age: 'reached its maximum age',
  evicted: 'made room for a newer lease of this user',
  archived: 'archived',
  shutdown: 'the stack shut down',
  runner_lost: 'its runner was lost',
  runner_start_failed: 'its runner did not start',
  sandbox_runtime_required: "the browser's sandbox is not available",
  start_timed_out: 'the start took too long',
};

/** Meanings of states whose word does not say it. */
export const stateHint = ({ status }: Session): string | null =>
  status === 'hibernated'
    ? 'Hibernated: no browser runs. Its tabs and logins come back with the next request of its platform.'
    : null;

export const whyEnded = ({ error, ended_reason }: Session): string | null =>
  error ?? (ended_reason === null ? null : ENDED[ended_reason]);

/** Filters of a list of events. */
export const EVENT_GROUPS = {
  all: { title: 'Everything', has: () => true },
  calls: { title: 'Tool calls', has: (kind: string) => kind === 'tool.call' },
  denials: { title: 'Egress denials', has: (kind: string) => kind === 'egress.denied' },
  lease: { title: 'Lease', has: (kind: string) => kind.startsWith('session.') },
} as const;
export type EventGroup = keyof typeof EVENT_GROUPS;

/** The subject of an event: a call by its tool, all else by its kind. */
export const eventTitle = ({ kind, data }: SessionEvent): string => (kind === 'tool.call' ? String(data.tool) : kind);

/** Why a call was refused or failed, or a request denied. */
export const codeOf = ({ data: { code } }: SessionEvent): string | undefined =>
  typeof code === 'string' ? code : undefined;

/** They are for a tracing system. */
const FOR_TRACES: readonly string[] = ['trace_id', 'span_id'];

/** One line about an event: what its data says, in the order in which it was written. A call says what it was called with, where it led, and how it ended. */
export function eventLine({ kind, data }: SessionEvent): string {
  if (kind !== 'tool.call') return formatPairs(data);
  const { arguments: given, outcome, code = '', duration_ms, status, title } = data;
  const called = typeof given === 'object' && given !== null ? formatPairs(given as Record<string, unknown>) : '';
  const led = [status, title].filter(part => part !== undefined).join(' ');
  const parts = [called, led, outcome === 'ok' ? '' : `${outcome} ${code}`.trim(), `${String(duration_ms)} ms`];
  return parts.filter(part => part !== '').join(' · ');
}

const formatPairs = (data: Readonly<Record<string, unknown>>): string =>
  Object.entries(data)
    .filter(([name, value]) => value !== null && value !== '' && !FOR_TRACES.includes(name))
    .map(
      ([name, value]) => `${name.replaceAll('_', ' ')}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
    )
    .join(' · ');
