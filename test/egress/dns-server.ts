import { createSocket } from 'node:dgram';
import { type Answer, AUTHORITATIVE_ANSWER, decode, encode } from 'dns-packet';

/** The server's answer about one name. */
export interface ZoneEntry {
  readonly a?: readonly string[];
  readonly aaaa?: readonly string[];
  /** Followed within the zone, as a recursive resolver does. */
  readonly cname?: string;
  readonly rcode?: 'NXDOMAIN' | 'SERVFAIL' | 'REFUSED';
  /** Never answered; or not for this type. */
  readonly silent?: boolean | 'A' | 'AAAA';
}

/** By lower-case name; a function is asked with the number of the query for that name and type, from 0. */
export type Zone = Record<string, ZoneEntry | ((query: number) => ZoneEntry)>;

export interface DnsServer {
  readonly address: string;
  /** Queries per name and type (`name/A`). */
  readonly queries: Map<string, number>;
  readonly zone: Zone;
  close(): Promise<void>;
}

/** A DNS server on loopback that answers from a table. */
export async function dnsServer(zone: Zone): Promise<DnsServer> {
  const socket = createSocket('udp4');
  const queries = new Map<string, number>();

  const answersFor = (
    name: string,
    type: 'A' | 'AAAA',
    depth = 0,
  ): { answers: Answer[]; rcode: number; silent: boolean } => {
    const key = `${name}/${type}`;
    const number = queries.get(key) ?? 0;
    queries.set(key, number + 1);
    const found = zone[name];
    const entry: ZoneEntry = typeof found === 'function' ? found(number) : (found ?? { rcode: 'NXDOMAIN' });
    const rcode = entry.rcode ? { NXDOMAIN: 3, SERVFAIL: 2, REFUSED: 5 }[entry.rcode] : 0;
    if (entry.cname && depth < 8) {
      const onward = answersFor(entry.cname, type, depth + 1);
      return { ...onward, answers: [{ type: 'CNAME', name, ttl: 0, data: entry.cname }, ...onward.answers] };
    }
    const data = (type === 'A' ? entry.a : entry.aaaa) ?? [];
    return {
      answers: data.map(address => ({ type, name, ttl: 0, data: address })),
      rcode,
      silent: entry.silent === true || entry.silent === type,
    };
  };

  socket.on('message', (message, peer) => {
    const query = decode(message);
    const question = query.questions?.[0];
    if (!question || (question.type !== 'A' && question.type !== 'AAAA')) return;
    const { answers, rcode, silent } = answersFor(question.name.toLowerCase(), question.type);
    if (silent) return;
    const flags = AUTHORITATIVE_ANSWER | rcode;
    socket.send(
      encode({ type: 'response', id: query.id ?? 0, flags, questions: [question], answers }),
      peer.port,
      peer.address,
    );
  });
  await new Promise<void>(bound => socket.bind(0, '127.0.0.1', bound));
  return {
    address: `127.0.0.1:${socket.address().port}`,
    queries,
    zone,
    close: () => new Promise(closed => socket.close(() => closed())),
  };
}
