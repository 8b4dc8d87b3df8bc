import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import * as z from 'zod';

const BROWSER = fileURLToPath(new URL('./talkative-browser.ts', import.meta.url));
/** One way out, to a neighbour that takes everything and answers nothing: 192.0.2.0/24 and 2001:db8::/32 are for examples (RFC 5737, 3849). */
const NETWORK = `set -e
ip link set lo up
ip link add near type veth peer name far
echo 1 > /proc/sys/net/ipv6/conf/far/disable_ipv6
# The kernel itself asks for routers, and tells of its addresses.
echo 0 > /proc/sys/net/ipv6/conf/near/router_solicitations
echo 0 > /proc/sys/net/ipv6/conf/near/accept_ra
echo 1 > /proc/sys/net/ipv6/conf/near/addr_gen_mode
ip address add 192.0.2.2/24 dev near
ip -6 address add 2001:db8::2/64 dev near nodad
ip link set near up
ip link set far up
ip neighbour add 192.0.2.1 lladdr 02:00:00:00:00:01 dev near
ip -6 neighbour add 2001:db8::1 lladdr 02:00:00:00:00:01 dev near
ip route add default via 192.0.2.1 dev near
ip -6 route add default via 2001:db8::1 dev near
sleep 6
exec "$@"`;

/** 5353, as the kernel writes it. Other sockets are made to ask the kernel for a route, and send nothing. */
const MDNS_PORT = ':14E9';

const report = z.object({
  packets: z.number(),
  datagrams: z.number(),
  sockets: z.array(z.string()),
  asked: z.array(z.string()),
  outcomes: z.record(z.string(), z.string()),
});

/** As a test of a namespace can be run. */
const IS_ROOT = process.platform === 'linux' && process.getuid?.() === 0;

test.skipIf(!IS_ROOT)(
  'no packet of a browser leaves beside its proxy, whatever a page tries, and nothing is asked of anyone but its sites',
  async () => {
    const { stdout } = await promisify(execFile)(
      'unshare',
      ['--net', '--', 'sh', '-c', NETWORK, 'sh', process.execPath, BROWSER],
      { timeout: 110_000 },
    );
    const { packets, datagrams, sockets, asked, outcomes } = report.parse(
      JSON.parse(stdout.trim().split('\n').at(-1) ?? ''),
    );
    const mdns = sockets.filter(address => address.endsWith(MDNS_PORT));
    expect({ packets, datagrams, mdns }).toEqual({ packets: 0, datagrams: 0, mdns: [] });
    expect(outcomes['WebRTC candidates']).toBe('tried');
    const ofPage = /^(?:localhost:8080|192\.0\.2\.1(?::\d+)?|printer\.local(?::80)?|[a-z]+\.example(?::\d+)?)$/;
    expect(asked.filter(host => !ofPage.test(host))).toEqual([]);
  },
  120_000,
);
