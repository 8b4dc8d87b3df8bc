import { expect, test } from 'vitest';
import type { CallLease } from '../../../runner/calls/call-lease.ts';
import { turn } from '../../../runner/calls/turn.ts';
import { turns } from '../../../runner/calls/turns.ts';
import { AgentControl } from '../../../runner/live/control.ts';
import { steppedClock } from '../../fakes/clock.ts';
import { answering, besideTool, codeOf, stageCall, text, unreached } from './stage-call.ts';

function lease(isOver: () => boolean = () => false) {
  const clock = steppedClock();
  const acted: string[] = [];
  const control = new AgentControl({
    clock,
    onChange: () => undefined,
    onTaken: () => undefined,
    onEnded: async () => undefined,
  });
  const parts = {
    browser: { turn: turns(), parts: { context: { pages: () => [] } } },
    live: { control, agentActed: (name: string) => acted.push(name) },
    ...{ lifetime: { isOver }, clock },
  };
  return { control, acted, stage: turn(parts as unknown as CallLease) }; // as much of a lease as the stage reads
}

test('calls that use the page run one after the other, others beside them', async () => {
  const { stage, acted } = lease();
  const { promise, resolve } = Promise.withResolvers<void>();
  const order: string[] = [];
  const first = stage(stageCall(), async () => {
    await promise;
    order.push('first');
    return text('first');
  });
  const second = stage(stageCall(), async () => {
    order.push('second');
    return text('second');
  });
  await stage(stageCall({ tool: besideTool(answering(text(''))) }), async () => {
    order.push('beside');
    return text('beside');
  });
  resolve();
  await Promise.all([first, second]);
  expect(order).toEqual(['beside', 'first', 'second']);
  expect(acted).toEqual(['browser_click', 'browser_click']);
});

test('a lease that ended while the call waited runs it no more', async () => {
  const { stage } = lease(() => true);
  expect(codeOf(await stage(stageCall(), unreached))).toBe('lease_ended');
});

test('a call is refused when it is cancelled while a person has control, and mentions the person afterwards', async () => {
  const { stage, control } = lease();
  control.take({ id: 'v1', identity: 'v1', name: 'ada' });
  const abort = new AbortController();
  const waiting = stage(stageCall({ signal: abort.signal }), unreached);
  abort.abort();
  expect(['person_has_control', 'call_cancelled']).toContain(codeOf(await waiting));
  expect(control.mayAct('v1')).toBe(true);
  control.giveBack('v1', 'released');
  const { content } = await stage(stageCall(), answering(text('clicked')));
  expect(content).toContainEqual({ type: 'text', text: expect.stringContaining('A person acted on the page') });
});
