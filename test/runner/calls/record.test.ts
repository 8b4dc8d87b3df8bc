import { expect, test } from 'vitest';
import { toolFailure } from '../../../contract/tool-failure.ts';
import type { CallLease } from '../../../runner/calls/call-lease.ts';
import { record } from '../../../runner/calls/record.ts';
import { steppedClock } from '../../fakes/clock.ts';
import { stageCall, text } from './stage-call.ts';

function lease() {
  const clock = steppedClock();
  const events: Record<string, unknown>[] = [];
  const parts = {
    clock,
    events: { add: (kind: string, data: object) => events.push({ kind, ...data }) },
    redact: (given: string) => given.replaceAll('hunter22', 'XXX'),
  };
  return { clock, events, stage: record(parts as unknown as CallLease) }; // as much of a lease as the stage reads
}

test('a call is in the timeline with its arguments, its time and its page, without secrets', async () => {
  const { stage, events, clock } = lease();
  const call = stageCall({ given: { target: 'e1', text: 'hunter22' } });
  await stage(call, async () => {
    clock.advance(1_500);
    call.page = { url: 'https://shop.example/?hunter22' };
    return text('done');
  });
  expect(events).toEqual([
    expect.objectContaining({
      kind: 'tool.call',
      tool: 'browser_click',
      outcome: 'ok',
      duration_ms: 1_500,
      ...{ arguments: { target: 'e1', text: 'XXX' }, url: 'https://shop.example/?XXX' },
    }),
  ]);
});

test('a failure has its code, without what is particular to one call', async () => {
  const { stage, events } = lease();
  for (const code of ['tabs_full', 'browser_action_timeout:browser_click:5s'] as const)
    await stage(stageCall(), async () => toolFailure(code, 'Not done.'));
  expect(events.map(({ code }) => code)).toEqual(['tabs_full', 'browser_action_timeout']);
});

test('a failure has its text, a blocked call its layer and rule', async () => {
  const { stage, events } = lease();
  await stage(stageCall(), async () => ({ ...text('not there'), isError: true }));
  const blocked = stageCall();
  await stage(blocked, async () => {
    blocked.verdict = { action: 'block', reason: 'No.', layer: 'session', index: 2 } as never;
    return { ...text('no'), isError: true };
  });
  expect(events).toMatchObject([
    { outcome: 'error', error: 'not there' },
    { outcome: 'blocked', layer: 'session', rule: 2 },
  ]);
});
