import type { RedeemAnswer } from '../../contract/assignment.ts';
import { isOwnMachine } from '../../contract/egress.ts';
import { ENV } from '../../contract/names.ts';
import { credentialTargets, decideCredential, hasNoPlace } from '../../contract/policy/credentials.ts';
import type { EffectivePolicy } from '../../contract/policy/document.ts';
import { domainOf } from '../secrecy/site.ts';

export type Site = RedeemAnswer['sites'][number];

export type SiteFound =
  | { readonly found: true; readonly site: Site }
  | { readonly found: false; readonly code: 'no_credential' | 'origin_refused'; readonly reason: string };

/** Decides for each value on which origins the credentials of one lease may be filled in. */
export interface LoginOrigins {
  decide(site: Omit<Site, 'totp'>, origin: string): { allowed: boolean; reason: string };
  /** The credential for a page of this origin: found by the page itself, never by what the agent calls it. */
  siteFor(origin: string, wanted: string | undefined): SiteFound;
  /** Whether it may be filled anywhere, as the policy is now: an agent need not know of one that may not. */
  isFilledSomewhere(site: Site): boolean;
  /** The registrable domains, else hosts, of places where it may be filled. */
  domains(site: Site): string[];
  /** Whether nothing says where it may be filled, so that its person may be asked about this origin. */
  mayAsk(site: Site, origin: string): boolean;
}

export interface LoginOriginsOptions {
  readonly sites: readonly Site[];
  readonly policy: () => EffectivePolicy;
  /** Origins without https that the deployment allows; only for credentials without a url that no policy names. */
  readonly insecureOrigins: readonly string[];
  /** Whether the person allowed the credential of this key there. */
  readonly isAllowedByPerson?: (site: string, origin: string) => boolean;
}

export function loginOrigins({
  sites,
  policy,
  insecureOrigins,
  isAllowedByPerson = () => false,
}: LoginOriginsOptions): LoginOrigins {
  const layersNow = () => policy().layers.map(({ layer, policy: { credentials } }) => ({ layer, credentials }));
  const decide: LoginOrigins['decide'] = ({ site, targets, known }, origin) => {
    const layers = layersNow();
    if (origin.startsWith('https://') && hasNoPlace(layers, site, targets, known) && isAllowedByPerson(site, origin))
      return { allowed: true, reason: 'the person allowed it here' };
    const named = layers.some(({ credentials }) => Object.hasOwn(credentials, site));
    if (insecureOrigins.includes(origin))
      return named || targets !== undefined
        ? { allowed: false, reason: `"${site}" has a place of its own; without one it may be filled on ${origin}` }
        : { allowed: true, reason: 'the deployment allows this origin' };
    return decideCredential(layers, site, origin, targets, known);
  };
  const targetsOf = ({ site, targets, known }: Site): string[] =>
    credentialTargets(layersNow(), site, targets, known).targets;
  return {
    decide,
    mayAsk: (site, origin) =>
      origin.startsWith('https://') &&
      hasNoPlace(layersNow(), site.site, site.targets, site.known) &&
      !decide(site, origin).allowed,
    isFilledSomewhere: site => insecureOrigins.length > 0 || targetsOf(site).length > 0,
    domains: site =>
      [...insecureOrigins, ...targetsOf(site)].map(target =>
        target.includes('://') ? siteDomain(target) : domainOf(target),
      ),
    siteFor(origin, wanted) {
      const known = wanted === undefined ? sites : sites.filter(({ site }) => site === wanted);
      const allowed = known.filter(site => decide(site, origin).allowed);
      const own = allowed.find(({ site }) => site.toLowerCase() === siteDomain(origin));
      const site = allowed.length === 1 ? allowed[0] : own;
      if (site !== undefined) return { found: true, site };
      if (allowed.length > 1) {
        const names = allowed.map(({ site }) => site).join(', ');
        return {
          found: false,
          code: 'no_credential',
          reason: `several are allowed here (${names}): say which by "site"`,
        };
      }
      const secure = origin.startsWith('https://') || insecureOrigins.includes(origin);
      if (!secure)
        return {
          found: false,
          code: 'origin_refused',
          reason: describeInsecure(origin),
        };
      const [only] = known;
      if (wanted !== undefined && only !== undefined)
        return { found: false, code: 'origin_refused', reason: decide(only, origin).reason };
      return { found: false, code: 'no_credential', reason: `no stored credential may be used on ${origin}` };
    },
  };
}

function describeInsecure(origin: string): string {
  const refused = `credentials are filled on https origins only, not on ${origin}`;
  return isOwnMachine(hostnameOf(origin))
    ? `${refused}; a local stack that is started with ${ENV.insecureLoginOrigins}=${origin} fills them there`
    : refused;
}

const hostnameOf = (url: string): string => URL.parse(url)?.hostname ?? '';

/** The part of a page's address that an audit keeps: its registrable domain, else its host. */
export const siteDomain = (url: string): string => domainOf(hostnameOf(url));
