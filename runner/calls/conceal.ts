import type { CallToolResult } from '@modelcontextprotocol/server';
import { CODE_META } from '../../contract/tool-failure.ts';
import { makeWellFormed } from '../../contract/well-formed.ts';
import { withoutMarks, withPlainBreaks } from '../browser/page-text.ts';
import type { Conceal } from '../budget/cut.ts';
import { maskFields } from '../secrecy/mask-fields.ts';
import type { CallLease } from './call-lease.ts';
import type { Stage } from './stage.ts';

/** Web content may hold instructions of strangers: a platform can quarantine what carries this mark (A5). */
export const UNTRUSTED = { 'omicron.dev/untrusted': true } as const;

/**
 * Takes secrets out of the answer, and the texts that fields with secrets held before the call or hold after it. The texts of the answer are
 * left to `fit`, which conceals more of them than it shows: a secret that is cut through would not be found.
 */
export const conceal =
  ({ fields, texts, own }: Pick<CallLease, 'fields' | 'texts' | 'own'>): Stage =>
  async (call, next) => {
    const before = await fields.texts();
    own.names(); // what is shown now may be named in answers, whatever the call leads to
    const result = await next();
    const held = new Map([...before, ...(await fields.texts())]);
    const words = own.answered();
    call.conceal = async text => texts.redact(maskFields(text, held), words);
    return concealResult(result, call.conceal);
  };

/** The text of our own tools, JSON, has only a page's marks; that of others has the snapshot's too. */
const plainText = (text: string): string =>
  makeWellFormed(withPlainBreaks(text.startsWith('{') ? withoutMarks(text) : text));

/** Keeps texts and pictures, and links with names without secrets; anything else that a tool might answer is left out. */
async function concealResult(result: CallToolResult, conceal: Conceal): Promise<CallToolResult> {
  const content: CallToolResult['content'] = [];
  for (const part of result.content) {
    if (part.type === 'text') content.push({ type: 'text', text: plainText(part.text) });
    else if (part.type === 'image') content.push(part);
    else if (part.type === 'resource_link') content.push({ ...part, name: await conceal(part.name.toWellFormed()) });
  }
  const code = result._meta?.[CODE_META];
  const _meta = { ...UNTRUSTED, ...(code === undefined ? {} : { [CODE_META]: code }) };
  return { content, ...(result.isError ? { isError: true } : {}), _meta };
}
