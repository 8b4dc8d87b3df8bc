import type { CallToolResult } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { refused } from '../../contract/tool-failure.ts';
import { refusedSelector } from '../secrecy/selectors.ts';
import type { Credentials } from '../tools/credentials.ts';
import type { ToolLease } from '../tools/define-tool.ts';
import { actor, safeTarget } from '../tools/target.ts';
import { secretsLast } from '../tools/typing.ts';
import type { PlaywrightMcp } from './playwright-mcp.ts';

const typeArguments = z.object({ target: z.string(), text: z.string(), submit: z.boolean().optional() });

/** What of a lease fills fields. */
type Filling = Pick<ToolLease, 'credentials' | 'before'>;

/** `browser_type`: a credential, or what takes the place of one, is put in by the runner; any other text by Playwright MCP. */
export async function typeMaybeSecret(
  args: Record<string, unknown>,
  signal: AbortSignal,
  playwright: PlaywrightMcp,
  { credentials, before }: Filling,
): Promise<CallToolResult> {
  const parsed = typeArguments.safeParse(args);
  if (!parsed.success) return playwright.call('browser_type', args, signal);
  const { target, text, submit } = parsed.data;
  if (!credentials.isName(text) && credentials.noneFilled()) return playwright.call('browser_type', args, signal);
  let isOrdinary = false;
  const result = await playwright.onPage('browser_type', 30, signal, async (page, inTime) => {
    const stale = credentials.isName(text) ? await credentials.refresh(page, [target]) : undefined;
    if (stale !== undefined) return refused(stale);
    const aim = await safeTarget(page, target, before);
    const done = credentials.isName(text)
      ? ((await credentials.fill(page, aim ?? target, text, inTime)) ?? 'filled')
      : await credentials.replace(page, aim ?? target, text);
    isOrdinary = done === 'not_secret';
    if (typeof done === 'object') return refused(done);
    if (isOrdinary) return { content: [] };
    if (submit === true)
      await playwright.settled(page, () => actor(page, aim ?? target).press('Enter', { timeout: 5_000 }));
    const said = done === 'filled' ? `The value of ${text} was filled in.` : 'The credential was replaced by the text.';
    return { content: [{ type: 'text', text: said }] };
  });
  if (isOrdinary) return playwright.call('browser_type', args, signal);
  return playwright.withSnapshot(result, signal);
}

const formArguments = z.object({ fields: z.array(z.looseObject({ target: z.string(), value: z.string() })) });

/** `browser_fill_form`, in the given order: fields with secrets by the runner, those between them by Playwright MCP. */
export async function fillMaybeSecrets(
  args: Record<string, unknown>,
  signal: AbortSignal,
  playwright: PlaywrightMcp,
  lease: Filling,
): Promise<CallToolResult> {
  const { credentials, before } = lease;
  const parsed = formArguments.safeParse(args);
  const fields = parsed.success ? parsed.data.fields : [];
  const names = fields.map(({ value }) => value).filter(credentials.isName);
  const secrets = credentials.noneFilled() ? [] : await secretFields(fields, signal, playwright, credentials);
  if (names.length + secrets.length === 0) return playwright.call('browser_fill_form', args, signal);
  const stale = names.length === 0 ? undefined : await refreshed(fields, signal, playwright, credentials);
  if (stale?.isError) return stale;
  // Once one is filled in, a target must not ask for it.
  const target = fields.map(({ target }) => refusedSelector(target, before)).find(each => each !== undefined);
  if (target !== undefined) return refused(target);
  for (const field of secretsLast(fields, credentials)) {
    const { target, value } = field;
    const result =
      secrets.includes(field) || credentials.isName(value)
        ? await typeMaybeSecret({ target, text: value }, signal, playwright, lease)
        : await playwright.call('browser_fill_form', { fields: [field] }, signal);
    if (result.isError) return result;
  }
  const text = ['The form was filled in', ...(names.length > 0 ? [`with ${names.join(', ')}`] : [])].join(', ');
  return playwright.withSnapshot({ content: [{ type: 'text', text: `${text}.` }] }, signal);
}

/** The page is ready to be filled, or an error. */
const refreshed = (
  fields: readonly FormField[],
  signal: AbortSignal,
  playwright: PlaywrightMcp,
  credentials: Credentials,
): Promise<CallToolResult> =>
  playwright.onPage('browser_fill_form', 30, signal, async page => {
    const targets = fields.map(({ target }) => target);
    const refusal = await credentials.refresh(page, targets);
    return refusal === undefined ? { content: [] } : refused(refusal);
  });

type FormField = z.infer<typeof formArguments>['fields'][number];

/** The fields that hold a secret: to them no text is typed. */
async function secretFields(
  fields: readonly FormField[],
  signal: AbortSignal,
  playwright: PlaywrightMcp,
  credentials: Credentials,
): Promise<FormField[]> {
  const found: FormField[] = [];
  await playwright.onPage('browser_fill_form', 30, signal, async page => {
    for (const field of fields) if (await credentials.isFilled(page, field.target)) found.push(field);
    return { content: [] };
  });
  return found;
}
