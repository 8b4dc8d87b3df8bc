import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { isIPv4, type Socket } from 'node:net';

/** The other end of a connection from this machine, as the kernel knows it. */
export interface Peer {
  readonly uid: number;
  /** Inode of its socket; 0 once no process holds it. */
  readonly inode: number;
}

/**
 * The holder of the other end of a connection from this machine over IPv4, by `/proc/net/tcp` (proc_net_tcp.txt of the
 * kernel's documentation). Undefined: the list does not have it.
 */
export function findPeer({ remoteAddress = '', remotePort = 0, localPort = 0 }: Socket): Peer | undefined {
  if (!isIPv4(remoteAddress)) return undefined;
  const ends = `${hexAddress(remoteAddress)}:${hexPort(remotePort)} ${hexAddress('127.0.0.1')}:${hexPort(localPort)}`;
  const find = (rows: readonly string[]) => rows.find(line => line.includes(` ${ends} `));
  // One that was established after the list was read is in the next.
  const row = (listed && find(listed)) ?? find(readConnections());
  const columns = row?.trim().split(/\s+/);
  return columns && { uid: Number(columns[UID_COLUMN]), inode: Number(columns[INODE_COLUMN]) };
}

/**
 * The rows that connections accepted in one turn of the event loop are looked up in: the kernel walks a table of the machine's size for the
 * list, 6 ms where memory is 24 GB, and a page opens dozens of connections at once. A row that is out of date by then names a socket
 * that is closed, which no process holds.
 */
let listed: readonly string[] | undefined;

function readConnections(): readonly string[] {
  if (listed === undefined) setImmediate(() => (listed = undefined));
  listed = readFileSync('/proc/net/tcp', 'latin1').split('\n');
  return listed;
}

const UID_COLUMN = 7;
const INODE_COLUMN = 9;

/**
 * Whether one of these processes has the socket open. Undefined: none that shows its files to this process has it, and
 * not all do.
 */
export function isHeldBy(inode: number, pids: readonly number[]): boolean | undefined {
  let isKnown = true;
  for (const pid of pids) {
    const held = holdsFile(pid, `socket:[${inode}]`);
    if (held) return true;
    isKnown &&= held !== undefined;
  }
  return isKnown ? false : undefined;
}

function holdsFile(pid: number, file: string): boolean | undefined {
  try {
    return readdirSync(`/proc/${pid}/fd`).some(fd => isOpenAs(`/proc/${pid}/fd/${fd}`, file));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException; // of a system call
    return code === 'EACCES' || code === 'EPERM' ? undefined : false;
  }
}

function isOpenAs(path: string, file: string): boolean {
  try {
    return readlinkSync(path) === file;
  } catch {
    // closed meanwhile
    return false;
  }
}

/** In the order of the machine's memory: little-endian wherever this runs. */
const hexAddress = (address: string): string =>
  Buffer.from(address.split('.').map(Number)).reverse().toString('hex').toUpperCase();

const hexPort = (port: number): string => port.toString(16).toUpperCase().padStart(4, '0');
