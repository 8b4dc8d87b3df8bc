import { readFileSync } from 'node:fs';
import { isIPv4, type Socket } from 'node:net';

/**
 * The user who holds the other end of a connection from this machine over IPv4, as the kernel lists it in
 * `/proc/net/tcp` (proc_net_tcp.txt of the kernel's documentation). Undefined: the list does not have it.
 */
export function peerUid({ remoteAddress = '', remotePort = 0, localPort = 0 }: Socket): number | undefined {
  if (!isIPv4(remoteAddress)) return undefined;
  const ends = `${hexAddress(remoteAddress)}:${hexPort(remotePort)} ${hexAddress('127.0.0.1')}:${hexPort(localPort)}`;
  const row = readFileSync('/proc/net/tcp', 'latin1')
    .split('\n')
    .find(line => line.includes(` ${ends} `));
  const uid = row?.trim().split(/\s+/)[UID_COLUMN];
  return uid === undefined ? undefined : Number(uid);
}
const UID_COLUMN = 7;

/** In the order of the machine's memory: little-endian wherever this runs. */
const hexAddress = (address: string): string =>
  Buffer.from(address.split('.').map(Number)).reverse().toString('hex').toUpperCase();

const hexPort = (port: number): string => port.toString(16).toUpperCase().padStart(4, '0');
