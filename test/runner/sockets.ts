import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

export interface Connection {
  readonly protocol: 'tcp' | 'udp';
  readonly remotePort: number;
  /** Whether the other side is this machine, by loopback. */
  readonly local: boolean;
}

const LOOPBACK = /^(0100007F|0{24}01000000|0000000000000000FFFF00000100007F)$/;

/**
 * The peers of every process of a group, as Linux lists them:
 * <https://man7.org/linux/man-pages/man5/proc_net.5.html>.
 */
export function connectionsOfGroup(group: number): Connection[] {
  const inodes = new Set(processesOf(group).flatMap(inodesOf));
  return (['tcp', 'tcp6', 'udp', 'udp6'] as const).flatMap(table =>
    readFileSync(`/proc/net/${table}`, 'utf8')
      .split('\n')
      .slice(1)
      .map(line => line.trim().split(/\s+/))
      .filter(columns => inodes.has(columns[9] ?? ''))
      .map(columns => {
        const [address = '', port = '0'] = (columns[2] ?? '').split(':');
        const protocol = table.startsWith('tcp') ? ('tcp' as const) : ('udp' as const);
        return { protocol, remotePort: Number.parseInt(port, 16), local: LOOPBACK.test(address) };
      })
      .filter(({ remotePort }) => remotePort !== 0),
  );
}

const processesOf = (group: number): string[] =>
  readdirSync('/proc').filter(pid => {
    try {
      return (
        /^\d+$/.test(pid) && /\) \S \d+ (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1] === String(group)
      );
    } catch {
      return false; // ended meanwhile
    }
  });

function inodesOf(pid: string): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).map(
      fd => /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? '',
    );
  } catch {
    return []; // ended meanwhile, or its files are its own
  }
}
