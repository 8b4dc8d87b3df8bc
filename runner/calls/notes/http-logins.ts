import type { BrowserContext, Response } from 'playwright-core';
import { quotedText } from '../../browser/page-text.ts';
import { frameOf } from '../../browser/request-frame.ts';
import { shownAddress } from '../../browser/shown.ts';

/** Sites that ask for a username and a password by HTTP, for the results of calls: a browser asks its person outside of the page. */
export interface HttpLogins {
  /** Since it was last asked. */
  take(): string[];
}

const UNAUTHORIZED = 401;
const REALM_CHARACTERS_MAX = 200;
const ASKED_MAX = 5;

/** `namesFor`: the names of the stored username and password that may be used at an address; undefined: none may. */
export function httpLogins(
  context: BrowserContext,
  namesFor: (url: string) => readonly [username: string, password: string] | undefined,
): HttpLogins {
  let asked = new Map<string, string>();
  context.on('response', response => {
    if (response.status() !== UNAUTHORIZED || !response.request().isNavigationRequest()) return;
    const challenge = response.headers()['www-authenticate'];
    if (challenge === undefined || asked.size === ASKED_MAX) return;
    asked.set(new URL(response.url()).origin, noteOn(response.url(), challenge, !isDocument(response)));
  });

  function noteOn(url: string, challenge: string, isFrame: boolean): string {
    // A site may offer several; a person can answer these.
    const offered = /(?:^|[,\n])\s*(?:Basic|Digest|NTLM|Negotiate)\b.*/is.exec(challenge)?.[0] ?? '';
    const own = (offered === '' ? challenge : offered).replace(/^[\s,]+/, '');
    const [scheme = ''] = own.split(/[\s,]/, 1);
    const realm = /realm="((?:[^"\\]|\\.)*)"/i.exec(own)?.[1]?.slice(0, REALM_CHARACTERS_MAX);
    const by = `by HTTP (${quotedText(scheme)}${realm === undefined ? '' : `, realm "${quotedText(realm)}"`})`;
    if (offered === '')
      return `The site asks for authorization ${by}, which is no username and password: no address and no stored credential opens it.`;
    const { protocol, host, pathname } = new URL(url);
    const names = namesFor(url);
    const address = `${protocol}//${names?.join(':') ?? 'NAME:PASSWORD'}@${shownAddress(`${host}${pathname}`)}`;
    const how =
      names === undefined
        ? `An address with both opens it (${address}); for a stored credential, ask the person with browser_request_user_action.`
        : `Its stored credential opens it by its names: browser_navigate to ${address}.`;
    return `${isFrame ? 'A frame of the page' : 'The site'} asks for a username and a password ${by}, outside of the page. ${how}`;
  }

  return {
    take() {
      const notes = [...asked.values()];
      asked = new Map();
      return notes;
    },
  };
}

function isDocument(response: Response): boolean {
  const frame = frameOf(response.request());
  return frame === undefined || frame === frame.page().mainFrame();
}
