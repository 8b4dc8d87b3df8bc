import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import type { BrowserSessions } from '../../client/browser-sessions.ts';
import type { ConnectedBrowser } from '../../client/leased-browser.ts';
import type { ToolResult } from '../../client/mcp.ts';
import { type CredentialTest, credentialTestRequest } from '../../contract/credential-test.ts';
import { OmicronError } from '../../contract/problem.ts';
import { siteKey } from '../../contract/secrets.ts';
import { foreignId } from '../../contract/session.ts';
import { loginFields, pageForms } from './login-form.ts';
import { requireOwnUser, signInOf } from './rights.ts';

const params = z.object({ user_id: foreignId, site: siteKey });
/** Time limit of the whole test, its lease's start included. */
const TEST_MS = 90_000;
/** Ends the browser of a test whose console was stopped. */
const TTL_SECONDS = 60;
/** A username, then a password on the next page. */
const STEPS_MAX = 2;

const NO_FORM = 'The page has no field for a password or a username. Give the address of the page with the login form.';

const login = z.object({ status: z.string(), message: z.string() });

/** `POST /api/users/{user_id}/credentials/{site}/test`: logs in with the credential in a browser that exists for this alone (A9). */
export function credentialTestRoute(app: FastifyInstance, sessions: BrowserSessions): void {
  app.post('/api/users/:user_id/credentials/:site/test', async request => {
    const named = params.safeParse(request.params);
    const asked = credentialTestRequest.safeParse(request.body);
    if (!named.success || !asked.success)
      throw new OmicronError('invalid_request', 'A test has the http(s) address of the page with the login form.');
    const { user_id: userId, site } = named.data;
    requireOwnUser(signInOf(request), userId);
    return testCredential(sessions, { userId, site, url: asked.data.url });
  });
}

async function testCredential(
  sessions: BrowserSessions,
  { userId, site, url }: { userId: string; site: string; url: string },
): Promise<CredentialTest> {
  const signal = AbortSignal.timeout(TEST_MS);
  const browser = await sessions.connect({
    userId,
    conversationId: `test of ${site} ${randomUUID()}`,
    tags: { purpose: 'credential-test' },
    signal,
    ttlSeconds: TTL_SECONDS,
    recordVideo: false,
    keepPages: 'none',
    toolset: 'both',
    snapshot: 'none',
  });
  try {
    const { status, message } = await tryLogin(browser, site, url, signal);
    return { status, message, ...(await lastSeen(browser, signal)) };
  } finally {
    await browser.lease.end();
    await sessions.archive(browser.lease.sessionId); // the list is of people's conversations
  }
}

async function tryLogin(
  browser: ConnectedBrowser,
  site: string,
  url: string,
  signal: AbortSignal,
): Promise<Pick<CredentialTest, 'status' | 'message'>> {
  const opened = await browser.callTool('browser_navigate', { url }, { signal });
  if (opened.isError) return { status: 'unreachable', message: describeFailure(opened) };
  for (let step = 1; ; step += 1) {
    const content = await browser.callTool('browser_get_content', { format: 'accessibility' }, { signal });
    const forms = pageForms.safeParse(documentOf(content));
    const fields = forms.success ? loginFields(forms.data) : undefined;
    if (fields === undefined) return { status: 'no_form', message: NO_FORM };
    const result = await browser.callTool('browser_login', { ...fields, site }, { signal });
    const answer = login.safeParse(documentOf(result));
    if (!answer.success) return { status: 'failed', message: describeFailure(result) };
    const mayGoOn = answer.data.status === 'ok' || answer.data.status === 'login_form_still_shown';
    if (fields.passwordSelector !== undefined || !mayGoOn || step === STEPS_MAX) return answer.data;
  }
}

async function lastSeen(
  browser: ConnectedBrowser,
  signal: AbortSignal,
): Promise<Pick<CredentialTest, 'url' | 'picture'>> {
  const shown = await browser.callTool('browser_take_screenshot', {}, { signal });
  const picture = shown.content.find(({ type }) => type === 'image')?.data ?? null;
  const seen = z
    .object({ url: z.string() })
    .safeParse(documentOf(await browser.callTool('browser_get_content', { format: 'links' }, { signal })));
  return { url: seen.success ? seen.data.url : null, picture };
}

/** The JSON of a result, beside which other parts say what it is. */
function documentOf({ content }: ToolResult): unknown {
  const text = content.find(part => part.text?.startsWith('{'))?.text;
  return text === undefined ? undefined : JSON.parse(text);
}

const refusal = z.object({ error: z.object({ message: z.string() }) });

/** Why a tool failed: the message of a refusal, else its first line. */
function describeFailure(result: ToolResult): string {
  const refused = refusal.safeParse(documentOf(result));
  return refused.success
    ? refused.data.error.message
    : (result.text.split('\n').find(line => line.trim() !== '') ?? '');
}
