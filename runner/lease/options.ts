import type { Logger } from 'pino';
import type { Assignment } from '../../contract/assignment.ts';
import type { SessionSnapshot } from '../../contract/hibernation.ts';
import type { ControllerKeys } from '../../contract/tokens.ts';
import type { Clock } from '../../time/clock.ts';
import type { RunnerBrowser } from '../browser/browser.ts';
import type { EgressForwarder } from '../browser/egress-forwarder.ts';
import type { BrowserWork } from '../calls/browser-work.ts';
import type { OpenProfile } from '../profile/lease-profile.ts';
import type { ControllerClient } from '../reporting/controller-client.ts';
import type { Redactor } from '../reporting/redact.ts';
import type { LongTexts } from '../text-thread/long-texts.ts';
import type { Redeemed } from './redeem.ts';
import type { LeaseSettings } from './settings.ts';

/** Everything of a runner that its lease uses, the same for any lease. */
export interface RunnerParts {
  readonly settings: LeaseSettings;
  readonly keys: ControllerKeys;
  readonly controller: ControllerClient;
  readonly forwarder: EgressForwarder | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A lease that is about to be served. */
export interface LeaseOptions extends RunnerParts {
  readonly assignment: Assignment;
  readonly redeemed: Redeemed;
  /** Redacts the lease's secrets: one for its tools, its profile and its way out. It learns codes and edited values. */
  readonly redactor: Redactor;
  /** Does the same for long texts. */
  readonly texts: LongTexts;
  readonly browser: RunnerBrowser;
  readonly work: BrowserWork;
  /** Restored already. */
  readonly profile: OpenProfile | undefined;
  /** The hibernated session that goes on; its state is restored already. */
  readonly restored: SessionSnapshot | undefined;
  /** Called once: the lease is over. */
  readonly onEnd: (reason: string) => void;
  /** Aborts with the runner's end. */
  readonly signal: AbortSignal;
}
