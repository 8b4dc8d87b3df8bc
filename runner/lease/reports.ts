import { browserFreezer, type Freezer } from '../browser/freezer.ts';
import { type ToolPolicy, toolPolicy } from '../calls/tool-policy.ts';
import { type EventQueue, eventQueue } from '../reporting/events.ts';
import { type LeaseClock, leaseClock } from '../reporting/lease-clock.ts';
import { watchFirstPage } from '../settle/first-page.ts';
import type { LeaseOptions } from './options.ts';

/** A lease's timeline, time, policy and idle browser: each speaks with the controller, or is reported to it. */
export interface LeaseReports {
  readonly events: EventQueue;
  readonly policy: ToolPolicy;
  readonly lifetime: LeaseClock;
  readonly freezer: Freezer;
}

/** `onPolicyChange` is called when the tools that agents see may be others. */
export function leaseReports(options: LeaseOptions, onPolicyChange: () => void): LeaseReports {
  const { assignment, redeemed, controller, clock, log, settings, work } = options;
  const { leaseToken, artifactToken } = redeemed;
  const warn = (message: string, details: Record<string, unknown>) => log.warn(details, message);
  const events = eventQueue({
    controller,
    tokens: [leaseToken, artifactToken],
    placeOf: () => work.spans.ids,
    clock,
    warn,
  });
  const firstPage = watchFirstPage(options.browser.context, clock, events.addFirstPage);
  const policy = toolPolicy({
    policy: redeemed.policy,
    sessionId: assignment.session_id,
    fetch: () => controller.policy(leaseToken, options.signal),
    onChange: onPolicyChange,
    warn,
  });
  const lifetime = leaseClock({
    controller,
    leaseToken,
    endsAtMs: redeemed.endsAtMs,
    clock,
    onEnd: options.onEnd,
    onPolicyVersion: version => policy.seen(version),
    debug: (message, details) => log.debug(details, message),
  });
  const freezer = browserFreezer({
    pause: options.browser.pause,
    afterMs: settings.freezeSeconds * 1_000,
    heldMs: async () => (await controller.activity(leaseToken, 0, options.signal)).heldMs,
    clock,
    onFrozen: () => events.add('browser.frozen', {}),
    onThawed: frozenMs => events.add('browser.thawed', { seconds: Math.round(frozenMs / 1_000) }),
  });
  const callStarted = () => {
    firstPage.callStarted();
    return lifetime.callStarted();
  };
  return { events, policy, lifetime: { ...lifetime, callStarted }, freezer };
}
