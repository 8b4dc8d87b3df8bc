import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Page } from 'playwright-core';
import { refusalResult } from '../../contract/tool-failure.ts';
import { enterText } from '../acting/enter-text.ts';
import { fieldsOf } from '../acting/field.ts';
import { filesToUpload } from '../acting/files-to-upload.ts';
import { actor, pinTarget, type Target } from '../acting/target.ts';
import { quotedText } from '../browser/page-text.ts';
import type { Credentials } from '../credentials/credentials.ts';
import { notOneElement, textResult } from '../results/result.ts';
import { ACTION } from './playwright-form.ts';
import type { ToolLease } from './tool-lease.ts';

/** Characters of a field that are quoted. */
const HELD_MAX = 80;

/**
 * Types a text, or the value behind a secret's name, or chooses what the text says, or the file of that name; resolves with a refusal or
 * nothing.
 */
export async function putText(
  page: Page,
  selector: Target,
  text: string,
  lease: ToolLease,
  signal: AbortSignal,
): Promise<CallToolResult | undefined> {
  const { credentials } = lease;
  if (credentials.isName(text)) {
    const refusal = await credentials.fill(page, selector, text, signal);
    return refusal && refusalResult(refusal);
  }
  const unknown = credentials.refuseUnknown(text);
  if (unknown !== undefined) return refusalResult(unknown);
  const done = await credentials.replace(page, selector, text);
  if (done === 'replaced') return undefined;
  if (done !== 'not_secret') return refusalResult(done);
  // A page may still draw the field.
  if ((await pinTarget(page, selector)) === undefined) return notOneElement(String(selector));
  const result = await enterOrUpload(page, selector, text, lease);
  return result?.isError ? result : undefined;
}

/** Gives a field what a text says, or the file of that name; resolves with a refusal, with what the page made of the text, or with nothing. */
export async function enterOrUpload(
  page: Page,
  target: Target,
  text: string,
  { files, documents }: Pick<ToolLease, 'files' | 'documents'>,
  slowly = false,
): Promise<CallToolResult | undefined> {
  const { count, first } = await fieldsOf(page, target);
  if (first === undefined || count > 1) return notOneElement(String(target), count);
  const mayPressKeys = !documents.isGuarding();
  const entered = await enterText(page, target, first, text, { slowly, mayPressKeys });
  if (typeof entered === 'object' && 'code' in entered) return refusalResult(entered);
  if (typeof entered === 'object')
    return documents.isGuarding()
      ? undefined
      : textResult(`The field holds "${quotedText(entered.holds.slice(0, HELD_MAX))}" now.`);
  if (entered !== 'file') return undefined;
  const paths = await filesToUpload([text], files);
  if (!Array.isArray(paths)) return paths;
  await actor(page, target).setInputFiles(paths, ACTION);
  return undefined;
}

/** The fields with secrets after the others: what a text chooses in those must not depend on a secret. */
export const secretsLast = <T extends { readonly value: string }>(
  fields: readonly T[],
  { isName }: Pick<Credentials, 'isName'>,
): T[] => [...fields.filter(({ value }) => !isName(value)), ...fields.filter(({ value }) => isName(value))];

/** Makes a page ready for secrets among the texts; resolves with a refusal or nothing. */
export async function readyForSecrets(
  page: Page,
  targets: readonly string[],
  texts: readonly string[],
  credentials: Credentials,
): Promise<CallToolResult | undefined> {
  if (!texts.some(credentials.isName)) return undefined;
  const refusal = await credentials.refresh(page, targets);
  return refusal && refusalResult(refusal);
}
