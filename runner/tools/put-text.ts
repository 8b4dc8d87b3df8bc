import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Page } from 'playwright-core';
import { refusalResult } from '../../contract/tool-failure.ts';
import { type EnterOptions, enterText } from '../acting/enter-text.ts';
import { fieldsOf } from '../acting/field.ts';
import { filesToUpload } from '../acting/files-to-upload.ts';
import { actor, pinTarget, type Target } from '../acting/target.ts';
import type { Credentials } from '../credentials/credentials.ts';
import { notOneElement } from '../results/result.ts';
import { ACTION } from './playwright-form.ts';
import type { ToolLease } from './tool-lease.ts';

/**
 * Types a text, or the value behind a secret's name, or chooses what the text says, or the file of that name; resolves with a refusal or
 * nothing.
 */
export async function putText(
  page: Page,
  selector: Target,
  text: string,
  { credentials, files }: ToolLease,
  signal: AbortSignal,
): Promise<CallToolResult | undefined> {
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
  return enterOrUpload(page, selector, text, files);
}

/** Gives a field what a text says, or the file of that name; resolves with a refusal or nothing. */
export async function enterOrUpload(
  page: Page,
  target: Target,
  text: string,
  files: ToolLease['files'],
  options: EnterOptions = {},
): Promise<CallToolResult | undefined> {
  const { count, first } = await fieldsOf(page, target);
  if (first === undefined || count > 1) return notOneElement(String(target), count);
  const entered = await enterText(page, target, first, text, options);
  if (typeof entered === 'object') return refusalResult(entered);
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
