import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Page } from 'playwright-core';
import * as z from 'zod';
import type { ToolCode } from '../../contract/tool-codes.ts';
import { CODE_META } from '../../contract/tool-failure.ts';
import { actor, locate, safeTarget, type Target } from '../acting/target.ts';
import { siteDomain } from '../credentials/login-origins.ts';
import type { SecretKind } from '../secrecy/held.ts';
import { refusedSelector } from '../secrecy/selectors.ts';
import { type PageContext, pageForm } from './custom-form.ts';
import { defineTool } from './define-tool.ts';
import { ACTION } from './playwright-form.ts';

const CODE_FIELD_MS = 8_000;

const MESSAGES = {
  ok: 'The form was filled and sent, and it is gone. Check the page: was the login accepted?',
  login_form_still_shown:
    'The form was filled and sent, but it is still there: the site may have refused the credential.',
  captcha_or_mfa: 'The site asks for something that only its person can give. Call browser_request_user_action.',
  person_asked: 'A person is asked whether the credential may be used here. Call again for the answer.',
  no_credential: 'There is no stored credential for this page.',
  no_totp: 'The user has stored no TOTP seed for this site. Call browser_request_user_action.',
  origin_refused: 'The credential may not be used here.',
  field_not_found: 'A field was not found.',
  field_refused: 'A field cannot take the value.',
  page_changed: 'The page changed while it was being filled.',
  scripted_document:
    'A script of yours ran in this page and could read what is filled in. Nothing was filled in: navigate to the page again, then log in.',
} as const;
type Status = keyof typeof MESSAGES;

const selector = z.string().min(1).optional();
const INPUT = {
  usernameSelector: selector.describe('Ref or selector'),
  passwordSelector: selector,
  submitSelector: selector.describe('To click then, else Enter'),
  totpSelector: selector.describe('For the one-time code, here or on the next page'),
  domain: selector.describe("Must be the page's own"),
  site: selector.describe('Which credential, of several'),
};

/** A8: the agent names the fields; the runner finds the credential by the page's own domain and fills it in. */
export const login = defineTool({
  name: 'browser_login',
  seconds: 60,
  effect: 'fills',
  whileTainted: 'open',
  shorter: null,
  custom: pageForm({
    sets: ['playwright', 'core', 'compat', 'both'],
    title: 'Log in',
    description: "Log in with the site's stored credential, which you never see. Name the fields of this step",
    input: INPUT,
    output: { status: z.string().optional(), domain: z.string().optional(), message: z.string().optional() },
    aliases: {
      username_selector: 'usernameSelector',
      password_selector: 'passwordSelector',
      submit_selector: 'submitSelector',
      totp_selector: 'totpSelector',
    },
    async run(args, context) {
      const { page, lease, signal } = context;
      const { credentials, audit } = lease;
      const domain = siteDomain(page.url());
      const answer = (status: Status, detail?: string): CallToolResult => {
        audit(domain, status);
        return outcome(status, domain, detail);
      };
      if (args.domain !== undefined && args.domain.toLowerCase() !== domain)
        return answer('origin_refused', `The page shown is of "${domain}".`);
      let found = credentials.siteFor(page, args.site);
      if (!found.found) {
        const asked = await credentials.askFor(page, args.site, signal);
        if (asked !== undefined) return answer(asked.code, asked.why);
        found = credentials.siteFor(page, args.site);
      }
      if (!found.found) return answer(found.code, found.reason);
      const { site } = found;
      const named = {
        username: args.usernameSelector,
        password: args.passwordSelector,
        code: args.totpSelector,
        submit: args.submitSelector,
      };
      if ([named.username, named.password, named.code].every(target => target === undefined))
        return answer(
          'field_not_found',
          'Name at least one field; browser_get_content or browser_snapshot shows them.',
        );
      if (named.code !== undefined && !site.totp) return answer('no_totp');
      const targets = Object.values(named).filter(target => target !== undefined);
      if ((await credentials.refresh(page, targets)) !== undefined) return answer('scripted_document');
      const aims = new Map<string, Target>();
      for (const target of targets) {
        // The field for a code may be on the next page.
        const aim = (await safeTarget(page, target, lease.before)) ?? (target === named.code ? target : undefined);
        if (aim === undefined) return answer('field_not_found', `"${target}" does not name exactly one element now.`);
        aims.set(target, aim);
      }
      const aimed = (target: string | undefined) => (target === undefined ? undefined : aims.get(target));
      const fill = async (kind: SecretKind, target: Target | undefined): Promise<CallToolResult | undefined> => {
        if (target === undefined) return undefined;
        const refused = await credentials.fill(page, target, credentials.nameOf(site, kind), signal);
        return refused && answer(refused.code, `${refused.why} ${refused.instead}`);
      };
      const { username, password, code, submit } = {
        username: aimed(named.username),
        password: aimed(named.password),
        code: aimed(named.code),
        submit: aimed(named.submit),
      };
      const refused = (await fill('username', username)) ?? (await fill('password', password));
      if (refused !== undefined) return refused;
      let last = password ?? username;
      const codeNow = code !== undefined && (last === undefined || (await actor(page, code).isVisible()));
      if (codeNow) {
        const refusedCode = await fill('code', code);
        if (refusedCode !== undefined) return refusedCode;
        last = code;
      }
      await send(context, last, submit);
      // One that was found by its look before is of the page before.
      if (!codeNow && typeof code === 'string' && (await mayLookFor(code, context)) && (await appears(page, code))) {
        const refusedCode = await fill('code', code);
        if (refusedCode !== undefined) return refusedCode;
        await send(context, code, undefined);
      }
      return answer(await seenAfter(context));
    },
    settles: 'itself',
    snapshotAfter: false,
    // A policy may name domains for logins: it decides by the page's own, whatever the agent says.
    policyArguments: (args, page) => ({ ...args, domain: page === undefined ? '' : siteDomain(page.url()) }),
  }),
});

/** In a page that still holds the password, whether it is found may be an answer. */
const mayLookFor = async (target: string, { page, lease: { before, documents } }: PageContext): Promise<boolean> =>
  refusedSelector(target, before) === undefined || !(await documents.isTainted(page));

const appears = (page: Page, target: string): Promise<boolean> =>
  locate(page, target)
    .waitFor({ state: 'visible', timeout: CODE_FIELD_MS })
    .then(
      () => true,
      () => false,
    );

async function send(
  { page, settled }: PageContext,
  last: Target | undefined,
  submit: Target | undefined,
): Promise<void> {
  await settled(page, async () => {
    if (submit !== undefined) await actor(page, submit).click(ACTION);
    else if (last !== undefined) await actor(page, last).press('Enter', ACTION);
  });
}

async function seenAfter({ page, challenge }: PageContext): Promise<Status> {
  if ((await challenge(page)) !== undefined) return 'captcha_or_mfa';
  const isAsked = await page
    .locator('input[type=password]')
    .filter({ visible: true })
    .count()
    .catch(() => 0);
  return isAsked > 0 ? 'login_form_still_shown' : 'ok';
}

function outcome(status: Status, domain: string, detail: string | undefined): CallToolResult {
  const message = detail === undefined ? MESSAGES[status] : `${MESSAGES[status]} ${detail}`;
  const content = [
    { type: 'text' as const, text: JSON.stringify({ success: status === 'ok', status, domain, message }) },
  ];
  return status === 'ok' ? { content } : { content, isError: true, _meta: { [CODE_META]: status satisfies ToolCode } };
}
