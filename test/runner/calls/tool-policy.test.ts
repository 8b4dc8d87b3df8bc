import { expect, test } from 'vitest';
import { type EffectivePolicy, parsePolicy } from '../../../contract/policy/document.ts';
import { toolPolicy } from '../../../runner/calls/tool-policy.ts';

const blocking = (version: string, tool: string): EffectivePolicy => ({
  version,
  layers: [
    {
      layer: 'session',
      policy: parsePolicy({ version: 1, tools: [{ tools: [tool], action: 'block_always', reason: 'no' }] }),
    },
  ],
});

/** A lease whose policy is fetched by this. */
function policyOf(fetch: () => Promise<EffectivePolicy>) {
  const heard: string[] = [];
  const policy = toolPolicy({
    policy: blocking('1', 'browser_evaluate'),
    sessionId: 'mine',
    fetch,
    onChange: () => heard.push('changed'),
    warn: message => heard.push(message),
  });
  const blocks = () =>
    ['browser_evaluate', 'browser_click'].filter(tool => policy.decide(tool, {}, false).action === 'block');
  return { policy, heard, blocks };
}

test('another version is fetched once, and is in force from then on', async () => {
  const fetched = Promise.withResolvers<EffectivePolicy>();
  let fetches = 0;
  const { policy, heard, blocks } = policyOf(() => {
    fetches += 1;
    return fetched.promise;
  });
  policy.seen('1');
  expect(fetches).toBe(0);
  policy.seen('2');
  policy.seen('2');
  expect({ fetches, blocks: blocks() }).toEqual({ fetches: 1, blocks: ['browser_evaluate'] });
  fetched.resolve(blocking('2', 'browser_click'));
  await expect.poll(() => heard).toEqual(['changed']);
  expect(blocks()).toEqual(['browser_click']);
  expect([policy.lists('browser_click'), policy.lists('browser_evaluate')]).toEqual([false, true]);
});

test('while it cannot be fetched the policy before stands, and it is asked for again', async () => {
  let fetches = 0;
  const { policy, heard, blocks } = policyOf(async () => {
    fetches += 1;
    throw new Error('the controller is gone');
  });
  policy.seen('2');
  await expect.poll(() => heard).toEqual(['policy refresh failed; keeping the previous policy']);
  expect(blocks()).toEqual(['browser_evaluate']);
  policy.seen('2');
  expect(fetches).toBe(2);
});
