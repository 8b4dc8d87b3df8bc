import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Page } from 'playwright-core';
import { refused } from '../../contract/tool-failure.ts';
import { choose } from '../acting/choice.ts';
import { filesToUpload } from '../acting/files-to-upload.ts';
import { actor, type Target } from '../acting/target.ts';
import type { Credentials } from '../credentials/credentials.ts';
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
    return refusal && refused(refusal);
  }
  const done = await credentials.replace(page, selector, text);
  if (done === 'replaced') return undefined;
  if (done !== 'not_secret') return refused(done);
  const chosen = await choose(page, selector, text);
  if (typeof chosen === 'object') return refused(chosen);
  if (chosen === 'text') await write(page, selector, text);
  if (chosen !== 'file') return undefined;
  const paths = await filesToUpload([text], files);
  if (!Array.isArray(paths)) return paths;
  await actor(page, selector).setInputFiles(paths, ACTION);
  return undefined;
}

/** Fills the field, and sends a key for pages that wait for one: unnamed, as the keyboards of phones do. */
async function write(page: Page, selector: Target, text: string): Promise<void> {
  const field = actor(page, selector);
  await field.fill(text, ACTION);
  for (const event of ['keydown', 'keyup']) await field.dispatchEvent(event, { key: 'Unidentified' });
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
  return refusal && refused(refusal);
}
