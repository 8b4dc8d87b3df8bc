import { isIPv6 } from 'node:net';
import type { Clock } from '../../time/clock.ts';

const MINUTE_MS = 60_000;
/** Peers that are counted one by one; those that come later in the minute share one count. */
const PEERS_MAX = 10_000;

/** Whether a peer may send one more request in this minute. Behind an ingress all people are one peer. */
export type PeerLimit = (address: string) => boolean;

export function peerLimit(clock: Clock, perMinute: number): PeerLimit {
  let minute = 0;
  const counts = new Map<string, number>();
  return address => {
    const now = Math.floor(clock.nowMs() / MINUTE_MS);
    if (now !== minute) counts.clear();
    minute = now;
    const peer = networkOf(address);
    const key = counts.has(peer) || counts.size < PEERS_MAX ? peer : '';
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    return count <= perMinute;
  };
}

/** One host has a whole /64 of IPv6. */
function networkOf(address: string): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address;
  const [start = '', end] = address.split('%')[0]?.split('::') ?? [];
  const groups = start.split(':');
  const zeros = end === undefined ? 0 : 8 - groups.length - end.split(':').length;
  return [...groups, ...Array<string>(Math.max(0, zeros)).fill('0'), ...(end?.split(':') ?? [])].slice(0, 4).join(':');
}
