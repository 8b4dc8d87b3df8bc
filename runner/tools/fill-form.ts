import type { CallToolResult } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { refusalResult } from '../../contract/tool-failure.ts';
import { textOf, textResult, withNotes } from '../results/result.ts';
import { choicesOfFields, fieldsIn } from '../secrecy/rules.ts';
import { refusedSelector } from '../secrecy/selectors.ts';
import { defineTool } from './define-tool.ts';
import { ANSWERS, type BrowserCall, onPage } from './playwright-form.ts';
import { enterOrUpload, secretsLast } from './put-text.ts';
import { typeSecret } from './type-secret.ts';

export const fillForm = defineTool({
  name: 'browser_fill_form',
  seconds: 45,
  effect: 'fills',
  whileTainted: { choices: args => choicesOfFields(fieldsIn(args)) },
  shorter: null,
  playwright: {
    sets: ['playwright', 'core', 'both'],
    title: 'Fill form',
    description: 'Fill several fields at once',
    args: { value: 'Checkbox: true or false; combobox: the option’s text' },
    unlisted: [],
    settles: ANSWERS,
    snapshotAfter: true,
    namesUnfitFields: true,
    run: async (args, call) => (await fillSecrets(args, call)) ?? fillOnPage(args, call),
  },
});

/** The element itself says what it is: roles of a snapshot that the schema does not list (`switch`, `searchbox`) are taken too. */
const field = z.object({
  target: z.string(),
  value: z.union([z.string(), z.boolean(), z.number()]).transform(String),
  name: z.string().optional(),
});

const fillOnPage = (args: Record<string, unknown>, call: BrowserCall) =>
  onPage({ fields: z.array(field) }, async (page, { fields }) => {
    const altered: string[] = [];
    for (const [index, { target, value, name }] of fields.entries()) {
      const result = await enterOrUpload(page, target, value, call.lease);
      if (result?.isError) return fields.length === 1 ? result : ofField(result, name ?? target, index);
      if (result !== undefined) altered.push(`${JSON.stringify(name ?? target)}: ${textOf(result)}`);
    }
    return altered.length === 0 ? undefined : textResult(...altered);
  })(args, call);

/** A refusal, with the field that it is about. */
const ofField = (refused: CallToolResult, name: string, filled: number): CallToolResult =>
  withNotes(refused, [
    `This is about the field ${JSON.stringify(name)}; ${filled === 0 ? 'none was' : `the ${filled} before it were`} filled in.`,
  ]);

const secretForm = z.object({ fields: z.array(z.looseObject({ target: z.string(), value: z.string() })) });
type FormField = z.infer<typeof secretForm>['fields'][number];

/** Fills a form with secrets, in the given order: those by the runner, the fields between them as usual. Undefined: it has none. */
async function fillSecrets(args: Record<string, unknown>, call: BrowserCall): Promise<CallToolResult | undefined> {
  const { credentials, before } = call.lease;
  const fields = secretForm.safeParse(args).data?.fields ?? [];
  const unknown = fields.map(({ value }) => credentials.refuseUnknown(value)).find(each => each !== undefined);
  if (unknown !== undefined) return refusalResult(unknown);
  const names = fields.map(({ value }) => value).filter(credentials.isName);
  const secrets = credentials.noneFilled() ? [] : await fieldsWithSecrets(fields, call);
  if (names.length + secrets.length === 0) return undefined;
  const stale = names.length === 0 ? undefined : await refreshPage(fields, call);
  if (stale?.isError) return stale;
  // Once one is filled in, a target must not ask for it.
  const target = fields.map(({ target }) => refusedSelector(target, before)).find(each => each !== undefined);
  if (target !== undefined) return refusalResult(target);
  for (const each of secretsLast(fields, credentials)) {
    const { target, value: text } = each;
    const isSecret = secrets.includes(each) || credentials.isName(text);
    const typed = isSecret ? await typeSecret({ target, text }, call) : undefined;
    const result = typed ?? (await fillOnPage({ fields: [each] }, call));
    if (result.isError) return result;
  }
  const text = ['The form was filled in', ...(names.length > 0 ? [`with ${names.join(', ')}`] : [])].join(', ');
  return call.withSnapshot(textResult(`${text}.`));
}

/** The page is ready to be filled, or an error. */
const refreshPage = (fields: readonly FormField[], call: BrowserCall): Promise<CallToolResult> =>
  call.onPage(async page => {
    const targets = fields.map(({ target }) => target);
    const refusal = await call.lease.credentials.refresh(page, targets);
    return refusal === undefined ? { content: [] } : refusalResult(refusal);
  });

/** The fields that hold a secret: to them no text is typed. */
async function fieldsWithSecrets(fields: readonly FormField[], call: BrowserCall): Promise<FormField[]> {
  const found: FormField[] = [];
  await call.onPage(async page => {
    for (const each of fields) if (await call.lease.credentials.isFilled(page, each.target)) found.push(each);
    return { content: [] };
  });
  return found;
}
