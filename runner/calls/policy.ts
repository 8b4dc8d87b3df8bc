import type { Page } from 'playwright-core';
import { refusalResult } from '../../contract/tool-failure.ts';
import type { CallLease } from './call-lease.ts';
import { admittedOf, type Call, type Stage } from './stage.ts';

const PAGE_SECONDS = 10;

/** Refuses calls that the policy blocks, as it is when their turn comes. */
export function policy(lease: Pick<CallLease, 'policy' | 'browser'>): Stage {
  /** Whether the model has seen web content in this lease. */
  let untrusted = false;
  return async (call, next) => {
    const verdict = lease.policy.decide(call.name, await decisiveArguments(call, lease.browser), untrusted);
    if (verdict.action === 'block') {
      call.verdict = verdict;
      return refusalResult({
        code: 'policy_blocked',
        why: verdict.reason,
        instead: 'Do not repeat this call: find another way, or ask the person.',
      });
    }
    const result = await next();
    untrusted ||= admittedOf(call).tool.usesPage && lease.browser.showsContent();
    return result;
  };
}

/** The arguments that the policy decides by: the agent's, unless the tool has better ones. */
async function decisiveArguments(call: Call, browser: CallLease['browser']): Promise<Record<string, unknown>> {
  const { definition } = admittedOf(call).tool;
  const { custom } = definition;
  const given = { ...call.given };
  if (custom === undefined || !custom.usesPage || custom.policyArguments === undefined) return given;
  let shown: Page | undefined;
  await browser.onPage({ name: definition.name, seconds: PAGE_SECONDS }, call.caller.signal, async page => {
    shown = page;
    return { content: [] };
  });
  return custom.policyArguments(given, shown);
}
