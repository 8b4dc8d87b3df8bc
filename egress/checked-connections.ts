import type { Socket } from 'node:net';
import type { RefusalCode } from '../contract/egress.ts';
import type { SiteJudge } from '../contract/policy/sites.ts';
import { addressClassifier } from './address.ts';
import { type AllowedAddresses, addressPolicy } from './address-policy.ts';
import { directDialer } from './dial.ts';
import { isRefusal, type ProxyRefusal } from './refusal.ts';
import { dnsResolver } from './resolve.ts';
import { isInternalName, parseAuthority } from './target.ts';

/** An address that is no destination, or cannot be reached. */
export interface ConnectionRefusal {
  /** The end of a sentence about the host, e.g. `does not resolve to an address`. */
  readonly why: string;
  /** Whether the address itself is refused: another attempt is refused too. */
  readonly forbidden: boolean;
}

/** Connections of this program itself to addresses that strangers chose, judged as the proxy judges those of browsers. */
export interface CheckedConnections {
  /** Whether connections to this http or https URL may be opened now; undefined: yes. Resolves its name. */
  judge(url: URL, signal: AbortSignal): Promise<ConnectionRefusal | undefined>;
  /** Resolves the name once, judges each of its addresses, and connects to one of exactly these. */
  open(url: URL, signal: AbortSignal): Promise<Socket | ConnectionRefusal>;
}

export interface CheckedConnectionsOptions {
  /** Ranges that are refused besides those that are not public. */
  readonly denied: readonly string[];
  /** Ranges that are open although they are private: names that exist inside a network alone may lead there, and http. */
  readonly allowed: readonly string[];
  /** DNS servers; by default the system's. */
  readonly dnsServers?: readonly string[];
  readonly lookupMs: number;
  readonly connectMs: number;
}

const ANY_SITE: SiteJudge = () => ({ allowed: true, rule: null, layer: null, tlsOnly: false });

export function checkedConnections(options: CheckedConnectionsOptions): CheckedConnections {
  const { denied, allowed } = options;
  const resolver = dnsResolver({ servers: options.dnsServers, timeoutMs: options.lookupMs });
  const classifier = addressClassifier({ denied, allowed });
  const policy = addressPolicy({ classifier, resolver, ownPorts: () => [] });
  const publicOnly = addressClassifier({ denied, allowed: [] });
  const dialer = directDialer({ timeoutMs: options.connectMs });
  /** Whether the deployment itself has opened the address. */
  const isOpened = (address: string) =>
    classifier.classify(address) === 'public' && publicOnly.classify(address) !== 'public';

  async function addressesOf(url: URL, signal: AbortSignal): Promise<AllowedAddresses | ConnectionRefusal> {
    const secure = url.protocol === 'https:';
    const target = parseAuthority(url.host, secure ? 443 : 80);
    if (target === null) return { why: 'has no host that can be reached', forbidden: true };
    // No DNS server is asked for it unless the deployment opens a range.
    const isInside = !target.isAddress && target.host !== 'localhost' && isInternalName(target.host);
    const answer =
      isInside && allowed.length > 0
        ? await resolver.resolve(target.host, signal)
        : await policy.check(target, secure ? 'https' : 'http', ANY_SITE, signal);
    if (isRefusal(answer)) return describeRefusal(answer);
    const addresses = 'addresses' in answer ? answer.addresses : answer;
    if (isInside && !addresses.every(isOpened)) return describeRefusal({ refused: 'internal_name' });
    if (!secure && !addresses.every(isOpened)) return { why: 'is reached by https alone', forbidden: true };
    return { addresses };
  }

  return {
    async judge(url, signal) {
      const answer = await addressesOf(url, signal);
      return 'why' in answer ? answer : undefined;
    },
    async open(url, signal) {
      const answer = await addressesOf(url, signal);
      if ('why' in answer) return answer;
      const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
      const dialed = await dialer.dial(answer.addresses, port, signal);
      return isRefusal(dialed) ? describeRefusal(dialed) : dialed.socket;
    },
  };
}

const WORDS: Partial<Record<RefusalCode, string>> = {
  internal_name: 'is a name of an internal network',
  internal_address: 'is an address of an internal network',
  mixed_addresses: 'also resolves to an address of an internal network',
  name_not_found: 'does not resolve to an address',
  dns_failed: 'could not be looked up',
  dns_timeout: 'was not looked up in time',
  connect_failed: 'refused the connection, or cannot be reached',
  connect_timeout: 'did not accept the connection in time',
};

function describeRefusal({ refused, addressClass }: ProxyRefusal): ConnectionRefusal {
  const forbidden = refused.startsWith('internal_') || refused === 'mixed_addresses';
  const of = addressClass === undefined ? '' : ` (${addressClass})`;
  return { why: `${WORDS[refused] ?? refused}${of}`, forbidden };
}
