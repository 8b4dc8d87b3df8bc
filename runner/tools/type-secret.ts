import type { CallToolResult } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { refusalResult } from '../../contract/tool-failure.ts';
import { actor, safeTarget } from '../acting/target.ts';
import { textResult } from '../results/result.ts';
import { ACTION, type BrowserCall } from './playwright-form.ts';

const typeArguments = z.object({ target: z.string(), text: z.string(), submit: z.boolean().optional() });

/** Puts a credential, or the text that replaces one, into a field. Undefined: neither the text nor the field is about one. */
export async function typeSecret(
  args: Record<string, unknown>,
  call: BrowserCall,
): Promise<CallToolResult | undefined> {
  const { credentials, before } = call.lease;
  const parsed = typeArguments.safeParse(args);
  if (!parsed.success) return undefined;
  const { target, text, submit } = parsed.data;
  const unknown = credentials.refuseUnknown(text);
  if (unknown !== undefined) return refusalResult(unknown);
  const isName = credentials.isName(text);
  if (!isName && credentials.noneFilled()) return undefined;
  let isOrdinary = false;
  const result = await call.onPage(async (page, signal) => {
    const stale = isName ? await credentials.refresh(page, [target]) : undefined;
    if (stale !== undefined) return refusalResult(stale);
    const aim = (await safeTarget(page, target, before)) ?? target;
    const done = isName
      ? ((await credentials.fill(page, aim, text, signal)) ?? 'filled')
      : await credentials.replace(page, aim, text);
    isOrdinary = done === 'not_secret';
    if (typeof done === 'object') return refusalResult(done);
    if (isOrdinary) return { content: [] };
    if (submit === true) await call.settled(page, () => actor(page, aim).press('Enter', ACTION));
    return textResult(
      done === 'filled' ? `The value of ${text} was filled in.` : 'The credential was replaced by the text.',
    );
  });
  return isOrdinary ? undefined : call.withSnapshot(result);
}
