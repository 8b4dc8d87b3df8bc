import { expect, test } from 'vitest';
import type { ControlEnd } from '../../../contract/live.ts';
import { LIVE_LIMITS } from '../../../contract/live-limits.ts';
import { AgentControl } from '../../../runner/live/control.ts';
import { controlledTurn } from '../../../runner/live/controlled-turn.ts';
import { steppedClock } from '../../fakes/clock.ts';

const ADA = { id: 'v1', identity: 'id 1', name: 'ada' };
const GRACE = { id: 'v2', identity: 'id 2', name: 'grace' };

function lease() {
  const clock = steppedClock();
  const told: string[] = [];
  let lifting = Promise.resolve();
  const control = new AgentControl({
    clock,
    onChange: () => undefined,
    onTaken: ({ name }, from) =>
      told.push(`taken by ${name}${from === null ? '' : ` from ${from.name}: ${from.reason}`}`),
    onEnded(person, why: ControlEnd, seconds) {
      told.push(`ended for ${person.name}: ${why} after ${seconds} s`);
      return lifting;
    },
  });
  return {
    ...{ clock, control, told },
    state: () => control.state().state,
    /** Held keys are lifted only when the returned function is called. */
    slowLift() {
      const { promise, resolve } = Promise.withResolvers<void>();
      lifting = promise;
      return resolve;
    },
    async pass(seconds: number) {
      clock.advance(seconds * 1_000);
      await new Promise(setImmediate);
    },
  };
}
const settled = () => new Promise(setImmediate);

test('control waits for the running call, and no further call begins', async () => {
  const { control, state } = lease();
  const end = control.beginCall();
  expect(control.take(ADA)).toBe(true);
  expect(state()).toBe('pausing');
  expect(control.mayAct(ADA.id)).toBe(false);
  expect(control.beginCall()).toBeUndefined();
  end?.();
  expect(state()).toBe('person');
  expect(control.mayAct(ADA.id)).toBe(true);
  expect(control.beginCall()).toBeUndefined();
});

test('one person has control: no other one takes it unasked, acts, or gives it back', () => {
  const { control, state } = lease();
  control.take(ADA);
  expect(control.take(GRACE)).toBe(false);
  expect(control.mayAct(GRACE.id)).toBe(false);
  control.giveBack(GRACE.id, 'released');
  expect(state()).toBe('person');
});

const fromAda = { id: ADA.id, reason: 'it is urgent' };

test('a person takes control from another: nothing is done by anyone until what that one held is lifted', async () => {
  const { control, state, told, pass, slowLift } = lease();
  control.take(ADA);
  await pass(5);
  const lifted = slowLift();
  expect(control.take(GRACE, fromAda)).toBe(true);
  expect(state()).toBe('pausing');
  for (const each of [ADA, GRACE]) expect(control.mayAct(each.id)).toBe(false);
  expect(control.beginCall()).toBeUndefined();
  lifted();
  await settled();
  expect(control.mayAct(GRACE.id)).toBe(true);
  expect(control.mayAct(ADA.id)).toBe(false);
  expect(control.state()).toMatchObject({
    holder: GRACE.id,
    taken_from: { id: ADA.id, name: ADA.name, reason: 'it is urgent' },
  });
  expect(told).toEqual(['taken by ada', 'ended for ada: taken after 5 s', 'taken by grace from ada: it is urgent']);
  control.giveBack(ADA.id, 'lost'); // who has none gives none back
  expect(state()).toBe('person');
});

test('control is taken from the person who was named, and from no other', async () => {
  const { control } = lease();
  control.take(ADA);
  control.take(GRACE, fromAda);
  await settled();
  expect(control.take({ id: 'v3', identity: 'id 3', name: 'lin' }, fromAda)).toBe(false);
  expect(control.state().holder).toBe(GRACE.id);
});

test('a viewer that waits for control loses that too, and the running call is still awaited', async () => {
  const { control, state, told } = lease();
  const end = control.beginCall();
  control.take(ADA);
  control.take(GRACE, fromAda);
  await settled();
  expect(state()).toBe('pausing');
  end?.();
  expect(control.mayAct(GRACE.id)).toBe(true);
  expect(told).toEqual(['taken by grace from ada: it is urgent']);
});

test('a take that is withdrawn while the other one is lifted lets no call begin before', async () => {
  const { control, state, slowLift } = lease();
  control.take(ADA);
  const lifted = slowLift();
  control.take(GRACE, fromAda);
  control.giveBack(GRACE.id, 'released');
  await settled();
  expect(control.beginCall()).toBeUndefined();
  lifted();
  await settled();
  expect(state()).toBe('agent');
  expect(control.beginCall()).toBeDefined();
});

test('no call begins before what the person held is lifted', async () => {
  const { control, state, slowLift } = lease();
  control.take(ADA);
  const lifted = slowLift();
  control.giveBack(ADA.id, 'released');
  await settled();
  expect(control.beginCall()).toBeUndefined();
  expect(control.mayAct(ADA.id)).toBe(false);
  lifted();
  await settled();
  expect(state()).toBe('agent');
  expect(control.beginCall()).toBeDefined();
});

test('control returns by itself after a minute without input, and input keeps it', async () => {
  const { control, told, pass, state } = lease();
  control.take(ADA);
  await pass(LIVE_LIMITS.idleSeconds - 1);
  control.mayAct(ADA.id);
  await pass(LIVE_LIMITS.idleSeconds - 1);
  expect(state()).toBe('person');
  await pass(1);
  expect(state()).toBe('agent');
  expect(told).toEqual(['taken by ada', `ended for ada: idle after ${2 * LIVE_LIMITS.idleSeconds - 1} s`]);
});

test('a lost connection gives control back after ten seconds, but a reload keeps it', async () => {
  const { control, told, pass, state } = lease();
  control.take(ADA);
  control.connectionLost(ADA.id);
  await pass(LIVE_LIMITS.lostSeconds - 1);
  expect(control.take({ ...ADA, id: 'v3' })).toBe(true);
  await pass(LIVE_LIMITS.lostSeconds);
  expect(state()).toBe('person');
  expect(control.mayAct('v3')).toBe(true);
  control.connectionLost('v3');
  await pass(LIVE_LIMITS.lostSeconds);
  expect(state()).toBe('agent');
  expect(told.at(-1)).toContain('lost');
});

test('a request for control can be withdrawn before the call has ended', async () => {
  const { control, told, state } = lease();
  const end = control.beginCall();
  control.take(ADA);
  control.giveBack(ADA.id, 'released');
  await settled();
  end?.();
  expect(state()).toBe('agent');
  expect(told).toEqual([]);
});

test('eight calls wait for the person and are refused after 45 seconds, a ninth at once', async () => {
  const { control, clock, pass } = lease();
  const refusal = { content: [{ type: 'text' as const, text: 'refused' }] };
  const done = { content: [{ type: 'text' as const, text: 'done' }] };
  const turn = controlledTurn({ turn: (_signal, work) => work(), control, clock, refusal, afterPerson: each => each });
  const signal = new AbortController().signal;
  control.take(ADA);
  const answers = Array.from({ length: LIVE_LIMITS.waitingCallsMax }, () => turn(signal, async () => done));
  await settled();
  expect(control.state().waiting).toBe(LIVE_LIMITS.waitingCallsMax);
  expect(await turn(signal, async () => done)).toBe(refusal);
  await pass(LIVE_LIMITS.waitingCallSeconds);
  expect(await Promise.all(answers)).toEqual(answers.map(() => refusal));
  const waits = turn(signal, async () => done);
  control.giveBack(ADA.id, 'released');
  expect(await waits).toBe(done);
});

test('a person of the same name does not have the control of another; the same person on a new connection has', () => {
  const { control } = lease();
  control.take(ADA);
  expect(control.take({ id: 'v3', identity: 'id 3', name: ADA.name })).toBe(false);
  expect(control.take({ id: 'v4', identity: 'name ada', name: ADA.name })).toBe(false);
  expect(control.mayAct('v3')).toBe(false);
  expect(control.take({ id: 'v5', identity: ADA.identity, name: 'ada, renamed' })).toBe(true);
});
