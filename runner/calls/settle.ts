import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Page } from 'playwright-core';
import type { Settler } from '../settle/settle.ts';
import type { AnyForm } from '../tools/form.ts';

/**
 * Runs an action of a tool and waits for the page's answer to it, as the tool's form says. `isOwn`: the action is on the page itself, so that
 * it is known how it begins; `undefined` as its outcome, like a failure, is not waited for.
 */
export async function settleAction<Outcome extends CallToolResult | undefined>(
  { settled }: Pick<Settler, 'settled'>,
  { settles }: Pick<AnyForm, 'settles'>,
  page: Page,
  action: () => Promise<Outcome>,
  isOwn: boolean,
): Promise<Outcome> {
  if (typeof settles === 'string') return action();
  const unless = (outcome: Outcome) => outcome === undefined || outcome.isError === true;
  return settled(page, action, {
    firstMs: settles.firstMs,
    isKey: settles.isKey ?? false,
    unless,
    ...(isOwn ? { begins: settles.begins } : {}),
  });
}
