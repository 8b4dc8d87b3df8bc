import type { Lease } from '../../client/lease.ts';
import { connectMcpBrowser } from '../../local/mcp-browser.ts';
import { eventually } from '../eventually.ts';
import type { MemberSite } from '../site/member-site.ts';

/** Logs in to the site with the browser of a lease. */
export async function logIn({ url }: MemberSite, lease: Lease): Promise<void> {
  await using browser = await connectMcpBrowser(lease);
  await browser.goto(`${url}/login`);
  await eventually('the login', async () => (await browser.evaluate('() => document.title')) === 'Logged in');
}

/** Traces of a login that the site finds in the browser of a lease. */
export async function found({ url }: MemberSite, lease: Lease): Promise<unknown> {
  await using browser = await connectMcpBrowser(lease);
  await browser.goto(url);
  await eventually('the page', async () => (await browser.evaluate('() => document.title')) === 'Found');
  return await browser.evaluate('() => window.found');
}
