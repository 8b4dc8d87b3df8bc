import type { Refusal } from '../../contract/tool-failure.ts';

const UNREACHABLE = 'Check the address; the site may be down, or closed to this browser.';
const UNTRUSTED =
  'A person who runs this deployment can have the authority of its certificate trusted (OMICRON_CHROMIUM_CA); an agent cannot pass it by.';
const FAULTY = 'The operator of the site has to replace its certificate; an agent cannot pass it by.';

/** Chromium's names of failures, as sentences; the first that fits. */
const FAILURES: readonly (readonly [RegExp, string, string])[] = [
  [
    /^ERR_(?:SSL_CLIENT_AUTH_|BAD_SSL_CLIENT_AUTH_)/,
    'The site asks for a client certificate, and none is stored for it.',
    'An agent cannot give one. A person who manages the credentials of this user can store it for this site ("omicron-browser credentials set SITE --user USER --certificate FILE --url ADDRESS"); the next lease has it.',
  ],
  [
    /^ERR_CERT_AUTHORITY_INVALID/,
    'The certificate of the site is not trusted: it is self-signed, or of an authority that is not known here.',
    UNTRUSTED,
  ],
  [/^ERR_CERT_DATE_INVALID/, 'The certificate of the site has expired, or is not valid yet.', FAULTY],
  [/^ERR_CERT_COMMON_NAME_INVALID/, 'The certificate is not for this host name.', `Check the address. ${FAULTY}`],
  [/^ERR_CERT_/, 'The certificate of the site is not trusted.', UNTRUSTED],
  [/^ERR_SSL_/, 'The site does not speak https at this address.', 'Check the port, or try http://.'],
  [/^ERR_NAME_NOT_RESOLVED/, 'No host has this name.', 'Check the spelling of the address.'],
  [
    /^ERR_TUNNEL_CONNECTION_FAILED/,
    'The proxy of this browser did not reach the site.',
    'The site cannot be reached from here: it may be down, or not allowed by the policy of this browser.',
  ],
  [
    /^ERR_CONNECTION_REFUSED/,
    'Nothing answers at this host and port.',
    'The site cannot be reached from here: check the port.',
  ],
  [
    /^ERR_(?:CONNECTION_|ADDRESS_|INTERNET_|NETWORK_|TIMED_OUT|SOCKET_)/,
    'The connection to the site failed.',
    `The site cannot be reached from here. ${UNREACHABLE}`,
  ],
  [
    /^ERR_TOO_MANY_REDIRECTS/,
    'The site redirects in a circle.',
    'It may want a cookie or a login: open its start page.',
  ],
  [
    /^ERR_CACHE_MISS/,
    'The page was the answer to a form, and loading it again would send the form again.',
    'Open a page by its address; fill in the form again where it has to be sent again.',
  ],
  [/^ERR_EMPTY_RESPONSE/, 'The site closed the connection without an answer.', UNREACHABLE],
  [/^ERR_UNSAFE_PORT/, 'Browsers open no pages at this port.', 'Check the port.'],
  [
    /^ERR_(?:UNKNOWN_URL_SCHEME|DISALLOWED_URL_SCHEME)/,
    'The address is one of a program outside of the browser.',
    'It cannot be opened here; the person can open it.',
  ],
  [
    /^ERR_ABORTED/,
    'No page came: the site answered without a document, or the page was left meanwhile.',
    'Look at the page that is there now.',
  ],
  [/^ERR_BLOCKED_BY_/, 'The browser blocked the page.', 'Use another address.'],
  [
    /^ERR_(?:HTTP2_|QUIC_|INVALID_|INCOMPLETE_|CONTENT_)/,
    'The answer of the site is broken.',
    'Try once more, or later.',
  ],
  [/^ERR_/, 'The page could not be loaded.', UNREACHABLE],
];

/** A failure of the network, as Chromium names it, in a sentence; the caller adds its address. */
export function networkFailure(text: string): Refusal<'action_failed'> | undefined {
  const name = /\bnet::(ERR_[A-Z0-9_]+)/.exec(text)?.[1];
  if (name === undefined) return undefined;
  const found = FAILURES.find(([sign]) => sign.test(name));
  return found && { code: 'action_failed', why: `${found[1]} (${name})`, instead: found[2] };
}
