import { leaseEndedResult } from '../../contract/lease-ended.ts';
import { refusalResult } from '../../contract/tool-failure.ts';
import { controlledTurn } from '../live/controlled-turn.ts';
import { withNotes } from '../results/result.ts';
import { currentTab } from '../upstream/tabs.ts';
import type { CallLease } from './call-lease.ts';
import { admittedOf, type Stage } from './stage.ts';

/** Runs calls that use the page one after the other, and none while a person has control. */
export function turn({
  browser,
  live,
  lifetime,
  clock,
}: Pick<CallLease, 'browser' | 'live' | 'lifetime' | 'clock'>): Stage {
  const run = controlledTurn({
    turn: browser.turn,
    control: live.control,
    clock,
    refusal: PERSON_HAS_CONTROL,
    afterPerson: result => withNotes(result, [PERSON_ACTED]),
  });
  return (call, next) =>
    admittedOf(call).tool.usesPage
      ? run(call.caller.signal, async () => {
          // The lease may have ended while the call waited.
          const result = lifetime.isOver() ? leaseEndedResult(null) : await next();
          live.agentActed(call.name, currentTab(browser.parts.context));
          return result;
        })
      : next();
}

const PERSON_HAS_CONTROL = refusalResult({
  code: 'person_has_control',
  why: 'A person controls the browser; the call was not carried out.',
  instead: 'Try again after they give it back.',
});

const PERSON_ACTED = 'A person acted on the page since the last call: take a snapshot, unless this is one.';
