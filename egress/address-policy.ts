import { networkInterfaces } from 'node:os';
import type { SiteJudge, SiteRequest } from '../contract/policy/sites.ts';
import type { Classifier } from './address.ts';
import { isRefusal, type ProxyRefusal } from './refusal.ts';
import type { NameResolver } from './resolve.ts';
import { type Destination, isInternalName, LOOPBACK } from './target.ts';

/** Addresses that passed every check; exactly these may be dialled. */
export interface AllowedAddresses {
  readonly addresses: readonly string[];
}

export interface AddressPolicy {
  /**
   * Browsing policy first (it needs no network), then the name, then one lookup, then every address of its answer.
   */
  check(
    target: Destination,
    scheme: SiteRequest['scheme'],
    sites: SiteJudge,
    signal: AbortSignal,
  ): Promise<AllowedAddresses | ProxyRefusal>;
}

export function addressPolicy(options: {
  classifier: Classifier;
  resolver: NameResolver;
  /** Ports this process listens on: never dialled on any address of this machine. */
  ownPorts: () => readonly number[];
  onLookup?: (seconds: number) => void;
}): AddressPolicy {
  const { classifier, resolver, ownPorts, onLookup } = options;
  const isSelf = (address: string, port: number): boolean =>
    ownPorts().includes(port) &&
    (/^(127\.|0\.|::1$|::$)/.test(address) ||
      Object.values(networkInterfaces()).some(list => list?.some(own => own.address === address)));
  const classOf = (address: string, port: number) => (isSelf(address, port) ? 'self' : classifier.classify(address));

  return {
    async check(target, scheme, sites, signal) {
      const verdict = sites({ scheme, host: target.host, port: target.port });
      if (!verdict.allowed)
        return { refused: verdict.code, rule: verdict.rule, layer: verdict.layer, detail: verdict.reason };
      if (!target.isAddress && isInternalName(target.host)) {
        // The one internal name whose addresses are known: the deployment may have opened them.
        const open =
          target.host === 'localhost' ? LOOPBACK.filter(each => classOf(each, target.port) === 'public') : [];
        return open.length > 0 ? { addresses: open } : { refused: 'internal_name' };
      }

      let addresses: readonly string[] = [target.host];
      if (!target.isAddress) {
        const startedMs = performance.now();
        const answer = await resolver.resolve(target.host, signal);
        onLookup?.((performance.now() - startedMs) / 1000);
        if (isRefusal(answer)) return answer;
        addresses = answer;
      }
      const classes = addresses.map(address => classOf(address, target.port));
      const denied = classes.find(name => name !== 'public');
      if (denied === undefined) return { addresses };
      const refused = classes.includes('public') ? 'mixed_addresses' : 'internal_address';
      return { refused, addressClass: denied };
    },
  };
}
