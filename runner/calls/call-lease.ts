import type { Snapshot } from '../../contract/assignment.ts';
import type { Clock } from '../../time/clock.ts';
import type { EgressForwarder } from '../browser/egress-forwarder.ts';
import type { Freezer } from '../browser/freezer.ts';
import type { LiveView } from '../live/live-view.ts';
import type { KeptPages } from '../pages/kept-pages.ts';
import type { EventQueue } from '../reporting/events.ts';
import type { LeaseClock } from '../reporting/lease-clock.ts';
import type { Redact } from '../reporting/redact.ts';
import type { FilledFields } from '../secrecy/filled-fields.ts';
import type { OwnSites } from '../secrecy/own-sites.ts';
import type { SecrecyRules } from '../secrecy/rules.ts';
import type { LongTexts } from '../text-thread/long-texts.ts';
import type { ToolLease } from '../tools/tool-lease.ts';
import type { BrowserWork } from './browser-work.ts';
import type { LeaseTool } from './lease-tools.ts';
import type { challengeNotes } from './notes/challenge-notes.ts';
import type { ConsoleMessages } from './notes/console-notes.ts';
import type { Downloads } from './notes/downloads.ts';
import type { HttpLogins } from './notes/http-logins.ts';
import type { OutsideNotes } from './notes/outside.ts';
import type { ToolPolicy } from './tool-policy.ts';

/** The parts of a lease that its calls use. */
export interface CallLease {
  readonly browser: BrowserWork;
  /** The tools of the lease by name. */
  readonly available: ReadonlyMap<string, LeaseTool>;
  readonly tools: ToolLease;
  readonly policy: ToolPolicy;
  readonly rules: SecrecyRules;
  readonly fields: FilledFields;
  readonly own: OwnSites;
  readonly redact: Redact;
  readonly texts: LongTexts;
  readonly live: LiveView;
  readonly pages: KeptPages;
  readonly messages: ConsoleMessages;
  readonly arrivals: Downloads;
  readonly outside: OutsideNotes;
  readonly logins: HttpLogins;
  readonly challenges: ReturnType<typeof challengeNotes>;
  readonly lifetime: LeaseClock;
  readonly freezer: Freezer;
  readonly events: EventQueue;
  readonly forwarder: EgressForwarder | undefined;
  readonly clock: Clock;
  /** Whether a call's `sessionId` is of this lease. */
  readonly isOwnName: (given: unknown) => boolean;
  /** Whether the session was hibernated before this call; resolves once that is known. */
  readonly isHibernated: () => Promise<boolean>;
  /** Resolves when the recording runs. */
  readonly recordingReady: Promise<unknown>;
  /** Unless the call asks for another. */
  readonly snapshot: Snapshot;
  /** About how many tokens the text of an answer takes at most, unless the call asks for another number. */
  readonly tokensMax: number;
  /** Whether pictures are in the text of answers too, unless the call says otherwise. */
  readonly imageText: boolean;
}
