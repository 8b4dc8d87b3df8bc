import type { ProfileContent } from '../../contract/profile.ts';
import { secretNames } from '../../contract/secrets.ts';
import type { LoginOrigins, Site } from '../credentials/login-origins.ts';
import { redactor } from '../reporting/redact.ts';
import { domainOf } from '../secrecy/site.ts';
import { longTexts } from '../text-thread/long-texts.ts';

export interface HeldSecretsOptions {
  readonly secrets: Readonly<Record<string, string>>;
  readonly sites: readonly Site[];
  readonly origins: Pick<LoginOrigins, 'domains'>;
}

/** A longer one is not searched: it may hold anything. */
const CHARACTERS_MAX = 4_000_000;

/**
 * Names of the secrets that a profile brings back: their site may have stored what an earlier lease filled in. Other sites'
 * parts are not searched: what they hold is a guess. The browser's own files are not searched either, and may hold all.
 */
export async function secretsHeld(content: ProfileContent, options: HeldSecretsOptions): Promise<string[]> {
  const { secrets, sites, origins } = options;
  if (content.files !== null) return Object.keys(secrets);
  const held: string[] = [];
  for (const site of sites) {
    const text = partsOf(content, new Set(origins.domains(site)));
    const names = secretNames(site.site).filter(name => secrets[name] !== undefined);
    if (text === '' || names.length === 0) continue;
    const own = redactor(Object.fromEntries(names.map(name => [name, secrets[name] ?? ''])));
    if (text.length > CHARACTERS_MAX || (await longTexts(own).holds(text))) held.push(...names);
  }
  return held;
}

/** Cookies, storage and tabs of these domains. */
function partsOf({ state, tabs }: ProfileContent, domains: ReadonlySet<string>): string {
  const isOf = (host: string) => domains.has(domainOf(host.replace(/^\./, '')));
  const isAt = (url: string | null) => url !== null && isOf(URL.parse(url)?.hostname ?? '');
  const parts = [
    ...(state?.cookies ?? []).filter(({ domain }) => isOf(domain)),
    ...(state?.origins ?? []).filter(({ origin }) => isAt(origin)),
    ...(tabs?.tabs ?? []).filter(({ url }) => isAt(url)),
  ];
  return parts.map(part => JSON.stringify(part)).join('\n');
}
