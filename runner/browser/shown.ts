import { bareText, oneLineAddress } from './page-text.ts';

/** A longer text takes a second a megabyte to be searched for secrets, and is of no more use to an agent. */
const ADDRESS_CHARACTERS_MAX = 8_192;
export const TITLE_CHARACTERS_MAX = 1_000;

/** A username and a password before the host. One way to read each address: in two ways, a long one takes minutes. */
const USER_INFO = /^([a-z][a-z\d+.-]*:\/\/)[^/?#]*@/i;

/**
 * An address as it is shown: without a username and a password; of a very long one only the origin, in which no part of a
 * secret is left over.
 */
export function shownAddress(given: string): string {
  const url = given.replace(USER_INFO, '$1');
  if (url.length <= ADDRESS_CHARACTERS_MAX) return oneLineAddress(url);
  const [origin = ''] = /^[a-z][a-z0-9+.-]*:(?:\/\/[^/?#@]{1,300}\/)?/i.exec(url) ?? [];
  return `${origin}… (an address of ${url.length} characters)`;
}

/** A title as it is shown, of which no more than one character past the limit is needed. */
export const shownTitle = (title: string): string =>
  title.length <= TITLE_CHARACTERS_MAX
    ? bareText(title)
    : `… (a title of more than ${TITLE_CHARACTERS_MAX} characters)`;
