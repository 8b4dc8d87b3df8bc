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

export const whyEnded = ({ error, ended_reason }: Session): string | null =>
  error ?? (ended_reason === null ? null : ENDED[ended_reason]);

/** What a list of events is narrowed to. */
export const EVENT_GROUPS = {
  all: { title: 'Everything', has: () => true },
  calls: { title: 'Tool calls', has: (kind: string) => kind === 'tool.call' },
  denials: { title: 'Egress denials', has: (kind: string) => kind === 'egress.denied' },
  lease: { title: 'Lease', has: (kind: string) => kind.startsWith('session.') },
} as const;
export type EventGroup = keyof typeof EVENT_GROUPS;

/** One line about an event: what its data says, in the order in which it was written. */
export function eventLine({ data }: SessionEvent): string {
  return Object.entries(data)
    .filter(([, value]) => value !== null && value !== '')
    .map(
      ([name, value]) => `${name.replaceAll('_', ' ')}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
    )
    .join(' · ');
}
