// Runs in a network namespace of its own: a runner's browser on a page that tries every feature that may talk. Prints what left.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import { launchBrowser } from '../../runner/browser/browser.ts';
import { browserPath } from '../../runner/browser/browser-path.ts';

/** The far end of the only way out, whose packets are counted. */
const FAR_END = 'far';
/** As long as a browser takes to begin its background work. */
const WATCH_MS = 12_000;
const LOOK_MS = 100;
const PAGE = readFileSync(new URL('./talkative-page.html', import.meta.url));

/** Packets that have come out at the far end. */
function packetsOut(): number {
  const line = readFileSync('/proc/net/dev', 'utf8')
    .split('\n')
    .find(each => each.trim().startsWith(`${FAR_END}:`));
  return Number(line?.split(':')[1]?.trim().split(/\s+/)[1]);
}

/** UDP datagrams that any process of the namespace has sent, by IPv4 and IPv6. */
function datagramsOut(): number {
  const [names = '', values = ''] = readFileSync('/proc/net/snmp', 'utf8')
    .split('\n')
    .filter(line => line.startsWith('Udp: '));
  const v4 = Number(values.split(' ')[names.split(' ').indexOf('OutDatagrams')]);
  return v4 + Number(/^Udp6OutDatagrams\s+(\d+)/m.exec(readFileSync('/proc/net/snmp6', 'utf8'))?.[1]);
}

/** Local addresses of the namespace's UDP sockets. */
const udpSockets = (): string[] =>
  ['udp', 'udp6'].flatMap(table =>
    readFileSync(`/proc/net/${table}`, 'utf8')
      .trim()
      .split('\n')
      .slice(1)
      .map(line => `${table} ${line.trim().split(/\s+/)[1]}`),
  );

const asked = new Set<string>();
const proxy = createServer((request, response) => {
  asked.add(new URL(request.url ?? '', 'http://none.example').host);
  // A way by QUIC to this origin, and addresses to which the browser reports what went wrong.
  response.setHeader('alt-svc', 'h3="192.0.2.1:443"; ma=86400, h3="alternative.example:443"');
  response.setHeader('reporting-endpoints', 'default="https://reports.example/"');
  response.setHeader('report-to', '{"group":"nel","max_age":86400,"endpoints":[{"url":"https://reports.example/"}]}');
  response.setHeader('nel', '{"report_to":"nel","max_age":86400,"success_fraction":1}');
  response.setHeader('content-security-policy-report-only', "img-src 'none'; report-to default");
  const isWorker = request.url?.endsWith('/worker.js') === true;
  response.setHeader('content-type', isWorker ? 'text/javascript' : 'text/html').end(isWorker ? '' : PAGE);
}).on('connect', (request, socket) => {
  asked.add(request.url ?? '');
  socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
});
await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve));
const { port } = proxy.address() as AddressInfo; // it listens on TCP

const tempDir = mkdtempSync(join(tmpdir(), 'omicron-quiet-'));
const searchPath = process.env.PATH ?? '';
const [packetsBefore, datagramsBefore] = [packetsOut(), datagramsOut()];
const browser = await launchBrowser({
  executable: browserPath(process.env.OMICRON_CHROMIUM, searchPath, () => chromium.executablePath()),
  ...{ sandbox: true, tempDir, searchPath, egressUrl: `http://127.0.0.1:${port}` },
});
const sockets = new Set<string>();
const look = setInterval(() => {
  for (const socket of udpSockets()) sockets.add(socket);
}, LOOK_MS);
await browser.context.grantPermissions(['geolocation', 'notifications', 'microphone', 'camera']).catch(() => undefined);
const page = browser.context.pages()[0] ?? (await browser.context.newPage());
const watched = delay(WATCH_MS);
// A secure context, in which each feature is there.
await page.goto('http://localhost:8080/');
const outcomes = Object.fromEntries(await page.evaluate<[string, string][]>('window.outcomes'));
await watched;
clearInterval(look);
console.log(
  JSON.stringify({
    packets: packetsOut() - packetsBefore,
    datagrams: datagramsOut() - datagramsBefore,
    sockets: [...sockets],
    asked: [...asked].sort(),
    outcomes,
  }),
);
await browser.close();
rmSync(tempDir, { recursive: true, force: true });
process.exit(0);
