import type { Page, Response } from 'playwright-core';
import type { Refusal } from '../../contract/tool-failure.ts';
import { goTo } from '../acting/go-to.ts';
import { withHttpLogin } from '../acting/http-login.ts';
import { addressOf } from '../browser/addresses.ts';
import type { ToolLease } from './tool-lease.ts';

/**
 * Goes to an address. If its username and password are the names of a stored credential, the browser gets their values when the site
 * asks for them by HTTP. Resolves with the document's answer, or a refusal.
 */
export async function goSignedIn(
  page: Page,
  text: string,
  { credentials, audit }: Pick<ToolLease, 'credentials' | 'audit'>,
  signal: AbortSignal,
): Promise<{ readonly response: Response | undefined } | Refusal> {
  const url = addressOf(text, page.url()) ?? text;
  const login = await credentials.httpLogin(url, signal);
  if (login === undefined) return { response: await goTo(page, url, signal) };
  if ('code' in login) return login;
  const address = new URL(url);
  address.username = '';
  address.password = '';
  const response = await withHttpLogin(page, login, () => goTo(page, address.href, signal));
  audit(address.hostname, response !== undefined && response.status() < 400 ? 'ok' : 'refused');
  return { response };
}
