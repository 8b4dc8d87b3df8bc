import { Resolver } from 'node:dns/promises';
import type { ProxyRefusal } from './refusal.ts';

export interface NameResolver {
  /**
   * The A and AAAA answers for the name, or why there is none. Never consults the hosts file or search domains;
   * keeps no cache. Ends when the signal aborts.
   */
  resolve(name: string, signal: AbortSignal): Promise<readonly string[] | ProxyRefusal>;
}

/**
 * Once one family has addresses, the other is waited for this long: there are DNS servers that never answer AAAA. RFC 8305 has 50 ms, for a
 * machine that does nothing else.
 */
const OTHER_FAMILY_MS = 500;

const NO_ANSWER = new Set(['ENOTFOUND', 'ENODATA']);

/** Asks DNS servers (`host[:port]`; those of the system when undefined) through c-ares. */
export function dnsResolver(options: { servers: readonly string[] | undefined; timeoutMs: number }): NameResolver {
  // Two tries within the deadline, which is enforced here because c-ares may prolong its retries.
  const resolver = new Resolver({ timeout: Math.max(50, Math.floor(options.timeoutMs / 2)), tries: 2 });
  if (options.servers) resolver.setServers(options.servers);

  /** By name, the questions without an answer yet: the many requests of a page to one host wait for the same ones. */
  const pending = new Map<string, readonly Promise<string[]>[]>();
  function ask(name: string): readonly Promise<string[]>[] {
    const known = pending.get(name);
    if (known !== undefined) return known;
    const asked = [resolver.resolve4(name), resolver.resolve6(name)];
    pending.set(name, asked);
    void Promise.allSettled(asked).then(() => pending.delete(name));
    return asked;
  }

  return {
    async resolve(name, signal) {
      const endsMs = performance.now() + options.timeoutMs;
      const addresses: string[] = [];
      const asked = ask(name).map(answer => answer.then(found => void addresses.push(...found)));
      const answers = Promise.allSettled(asked);
      const first = Promise.any(asked).catch(() => undefined); // of one family, or of none
      if ((await withDeadline(first, options.timeoutMs, signal)) === 'late') return { refused: 'dns_timeout' };
      const otherMs = Math.min(OTHER_FAMILY_MS, endsMs - performance.now());
      const ended = await withDeadline(answers, otherMs, signal);
      if (signal.aborted) return { refused: 'dns_timeout' };
      if (ended === 'late') return [...addresses];
      if (addresses.length > 0) return addresses;
      const codes = ended.map(answer => (answer.status === 'rejected' ? String(answer.reason?.code) : 'ENODATA'));
      if (codes.every(code => NO_ANSWER.has(code))) return { refused: 'name_not_found' };
      return { refused: codes.includes('ETIMEOUT') ? 'dns_timeout' : 'dns_failed' };
    },
  };
}

function withDeadline<T>(work: Promise<T>, milliseconds: number, signal: AbortSignal): Promise<T | 'late'> {
  return new Promise(done => {
    const late = () => done('late');
    const timer = setTimeout(late, milliseconds);
    signal.addEventListener('abort', late, { once: true });
    void work.then(value => {
      clearTimeout(timer);
      signal.removeEventListener('abort', late);
      done(value);
    });
  });
}
