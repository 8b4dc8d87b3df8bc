import { act } from './act.ts';
import { admit } from './admit.ts';
import { bounds } from './bounds-stage.ts';
import type { CallLease } from './call-lease.ts';
import { conceal } from './conceal.ts';
import { fit } from './fit.ts';
import { keepAlive } from './keep-alive.ts';
import { notes } from './notes.ts';
import { policy } from './policy.ts';
import { record } from './record.ts';
import { secrecy } from './secrecy.ts';
import type { Stage } from './stage.ts';
import { turn } from './turn.ts';

/**
 * The stages of a call, of one lease. A call goes down this list and its answer comes back up: each stage runs the ones below it by `next`,
 * unless it answers the call itself, and may change what they answer.
 */
export const stagesOf = (lease: CallLease): readonly Stage[] => [
  keepAlive(lease), // down: counts as activity, thaws the browser; answers calls of a hibernated lease
  record(lease), //    up:   writes the call to the timeline
  fit(lease), //       up:   shortens the answer to its budget of tokens
  conceal(lease), //   up:   takes secrets out of the answer
  admit(lease), //     down: refuses unknown tools, calls of other sessions and wrong options
  turn(lease), //      down: waits until the calls before have ended, and no person has control
  policy(lease), //    down: refuses calls that the policy blocks
  notes(lease), //     up:   adds downloads, console messages, incidents ...
  secrecy(lease), //   down: refuses calls that could read a secret; up: asks again, since the page may be another one
  bounds(lease), //    ends the call after its time, when it is cancelled and with the browser
  act(lease), //       runs the tool's code; an action waits for the page's answer (settle.ts), a snapshot follows (snapshot-after.ts)
];
