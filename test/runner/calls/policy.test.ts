import { expect, test } from 'vitest';
import type { CallLease } from '../../../runner/calls/call-lease.ts';
import { policy } from '../../../runner/calls/policy.ts';
import { answering, codeOf, stageCall, text, toolNamed, unreached } from './stage-call.ts';

function lease(decide: (tool: string, args: Record<string, unknown>, untrusted: boolean) => object) {
  let isShown = false;
  const parts = {
    policy: { decide },
    browser: {
      showsContent: () => isShown,
      onPage: async (_bounds: object, _signal: AbortSignal, work: (page: object) => Promise<object>) =>
        work({ url: () => 'https://accounts.shop.example/login' }),
    },
  };
  const stage = policy(parts as unknown as CallLease); // as much of a lease as the stage reads
  return { stage, show: () => (isShown = true) };
}

test('a blocked call does not run, and its verdict is kept for the timeline', async () => {
  const { stage } = lease(() => ({ action: 'block', reason: 'No clicks.', layer: 'user', index: 3 }));
  const call = stageCall();
  expect(codeOf(await stage(call, unreached))).toBe('policy_blocked');
  expect(call.verdict).toMatchObject({ layer: 'user', index: 3 });
});

test('the context is untrusted once a page was shown', async () => {
  const seen: boolean[] = [];
  const { stage, show } = lease((_tool, _args, untrusted) => {
    seen.push(untrusted);
    return { action: 'allow' };
  });
  await stage(stageCall(), async () => {
    show();
    return text('a page');
  });
  await stage(stageCall(), answering(text('another')));
  expect(seen).toEqual([false, true]);
});

test("a login is decided by the page's own domain", async () => {
  const domains: unknown[] = [];
  const { stage } = lease((_tool, { domain }) => {
    domains.push(domain);
    return { action: 'allow' };
  });
  await stage(
    stageCall({ tool: toolNamed('browser_login'), given: { domain: 'bank.example' } }),
    answering(text('done')),
  );
  expect(domains).toEqual(['shop.example']);
});
