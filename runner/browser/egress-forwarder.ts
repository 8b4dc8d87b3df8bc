import {
  Agent,
  createServer,
  type IncomingMessage,
  type ServerResponse,
  STATUS_CODES,
  request as send,
} from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { getDomain, getSubdomain } from 'tldts';
import { PROXY_TRACEPARENT, REFUSAL_HEADER, REFUSALS, type RefusalCode } from '../../contract/egress.ts';
import { withoutBrackets } from '../../contract/policy/hosts.ts';
import type { ClientCertificate } from '../../contract/secrets.ts';
import { answerFields, fieldsWithout } from '../../http/end-to-end.ts';
import { mayReuse } from '../../http/may-reuse.ts';
import { processTreeOfProc } from '../../process/process-tree.ts';
import { passWithCertificate } from './certificate-tunnel.ts';
import { unprivilegedUser } from './launcher.ts';
import { ownCertificate } from './own-certificate.ts';
import { findPeer, isHeldBy, type Peer } from './peer.ts';

/** The lease that the traffic belongs to: set when the runner is leased, never before. */
export interface ForwardedLease {
  readonly runnerId: string;
  readonly credential: string;
  /**
   * Whether a text holds a password. Names that do are not passed on: a page would pass it to the server that looks them up, and they are
   * in the timeline where they are denied.
   */
  readonly holdsSecret: (text: string) => boolean;
  /** The span below which a connection is that begins now. */
  readonly traceparent?: () => string | undefined;
  /** The client certificate for an https origin; undefined: it has none, and its TLS passes untouched. */
  readonly certificateFor?: CertificateFor;
}

export type CertificateFor = (origin: string) => ClientCertificate | undefined;

/**
 * A refusal of the egress proxy. Chromium hides the page of a refused CONNECT: only this gives the agent
 * the reason.
 */
export interface EgressRefusal {
  /** Value of `x-omicron-refusal`, e.g. `site_denied`. */
  readonly code: string;
  readonly status: number;
  /** `host:port`. */
  readonly authority: string;
  readonly atMs: number;
}

export interface EgressForwarder {
  /** Chromium's proxy: `http://127.0.0.1:<port>`, without a credential. */
  readonly proxyUrl: string;
  /** The key (base64 SHA-256) by which this forwarder speaks for sites with a client certificate: its browser has to trust it. */
  readonly certificateSpki: string;
  /** From now on requests carry this lease's credential. */
  lease(lease: ForwardedLease): void;
  /** The last refusals, newest last; at most a hundred. */
  readonly refusals: readonly EgressRefusal[];
  /** Closes the listener and every connection through it. */
  close(): Promise<void>;
}

const REFUSALS_MAX = 100;
const HEAD_BYTES_MAX = 64 * 1024;
/** Idle connections to the egress proxy, and how long they are kept: less than the minute for which the proxy keeps them. */
const IDLE_MAX = 8;
const IDLE_MS = 30_000;
/** A refusal of this forwarder itself. */
const OWN_REFUSALS = {
  no_lease: { status: 503, sentence: 'This browser is not leased yet, so nothing is let through.' },
  secret_in_name: REFUSALS.secret_in_name,
} as const;
type OwnRefusal = keyof typeof OWN_REFUSALS;

/**
 * A proxy on loopback that adds the lease's credential and passes everything to the egress proxy. Chromium is
 * launched before it is leased and never holds a credential itself; with none set, everything is refused. On Linux, only
 * this process and those that descend from it are served.
 */
export async function egressForwarder(options: {
  egressUrl: string;
  /** Authorities in PEM that this deployment trusts beside those that are known. */
  authorities?: readonly string[];
  /** Keys of sites (base64 SHA-256, comma-separated) that this deployment trusts. */
  trustedSpki?: string | undefined;
  onRefusal?: (refusal: EgressRefusal) => void;
}): Promise<EgressForwarder> {
  const egress = new URL(options.egressUrl);
  const egressHost = withoutBrackets(egress.hostname);
  const egressPort = Number(egress.port) || 80;
  const sockets = new Set<Socket>();
  const refusals: EgressRefusal[] = [];
  let authorization: string | undefined;
  let holdsSecret: ForwardedLease['holdsSecret'] = () => false;
  let traceparent: ForwardedLease['traceparent'];
  let certificateFor: CertificateFor = () => undefined;
  const own = ownCertificate();
  const trustedSpki = new Set(options.trustedSpki?.split(','));
  const { authorities = [] } = options;

  const note = (code: string | undefined, status: number, authority: string) => {
    if (code === undefined) return;
    const refusal = { code, status, authority, atMs: Date.now() };
    refusals.push(refusal);
    if (refusals.length > REFUSALS_MAX) refusals.shift();
    options.onRefusal?.(refusal);
  };
  const dial = (): Socket => {
    const socket = connect({ host: egressHost, port: egressPort, allowHalfOpen: true, noDelay: true });
    sockets.add(socket);
    return socket.once('close', () => sockets.delete(socket));
  };

  const agent = new Agent({ keepAlive: true, maxFreeSockets: IDLE_MAX, timeout: IDLE_MS });
  const upstream: Upstream = {
    host: egressHost,
    port: egressPort,
    agent,
    dial,
    note,
    authorization: () => authorization,
    traceparent: () => traceparent?.(),
    certified(authority) {
      const { hostname = '', origin = '' } = URL.parse(`https://${authority}`) ?? {};
      const certificate = certificateFor(origin);
      if (certificate === undefined) return undefined;
      const host = withoutBrackets(hostname);
      const onFailure = (code: RefusalCode) => note(code, REFUSALS[code].status, authority);
      const trusted = { authorities, trustedSpki };
      return (client, site) => passWithCertificate({ client, site, host, certificate, own, onFailure, ...trusted });
    },
    refusedHere: host => {
      if (authorization === undefined) return 'no_lease';
      return holdsSecret(madeUp(host)) ? 'secret_in_name' : undefined;
    },
  };
  const server = createServer(
    { maxHeaderSize: HEAD_BYTES_MAX, requireHostHeader: false, requestTimeout: 0 },
    (request, response) => forwardRequest(upstream, request, response),
  );
  server.on('connect', (request, client: Socket, head) => forwardTunnel(upstream, request, client, head));
  server.on('connection', socket => {
    if (!isOwn(socket)) return void socket.destroy();
    sockets.add(socket.once('close', () => sockets.delete(socket)));
  });
  await new Promise<void>((listening, failed) => server.once('error', failed).listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo; // a TCP server that listens has one

  return {
    proxyUrl: `http://127.0.0.1:${port}`,
    certificateSpki: own.spki,
    refusals,
    lease({ runnerId, credential, holdsSecret: holds, traceparent: current, certificateFor: certificate }) {
      holdsSecret = holds;
      traceparent = current;
      certificateFor = certificate ?? certificateFor;
      authorization = `Basic ${Buffer.from(`${runnerId}:${credential}`).toString('base64')}`;
    },
    close() {
      authorization = undefined;
      const closed = new Promise<void>(done => server.close(() => done()));
      agent.destroy();
      for (const socket of sockets) socket.destroy();
      return closed;
    },
  };
}

/** In this process's tree: its browser. Only Linux reveals which process owns a connection. */
function isOwn(socket: Socket): boolean {
  if (process.platform !== 'linux') return true;
  const peer = findPeer(socket);
  return peer !== undefined && isOwnUser(peer) && isHeldByTree(peer) !== false;
}

/** If this process is root, its browser has a user of its own. */
const isOwnUser = ({ uid }: Peer): boolean => uid === process.getuid?.() || uid === unprivilegedUser(process.pid);

/** Undefined: the kernel does not say. Pages' own processes open no sockets. */
function isHeldByTree({ inode }: Peer): boolean | undefined {
  const tree = processTreeOfProc(process.pid);
  return (
    tree &&
    isHeldBy(
      inode,
      tree.filter(({ isRenderer }) => !isRenderer).map(({ pid }) => pid),
    )
  );
}

/** The egress proxy, as one forwarded request sees it. */
interface Upstream {
  readonly host: string;
  readonly port: number;
  /** Keeps connections for plain requests. */
  readonly agent: Agent;
  dial(): Socket;
  /** Undefined: there is no lease yet. */
  authorization(): string | undefined;
  /** The span of the running call; undefined: nothing is traced. */
  traceparent(): string | undefined;
  /** Why nothing is sent to this host; undefined: it is. */
  refusedHere(host: string): OwnRefusal | undefined;
  /** Passes an open tunnel on with the client certificate of its site; undefined: the site has none. */
  certified(authority: string): ((client: Socket, site: Socket) => void) | undefined;
  /** Keeps a refusal; does nothing without a code. */
  note(code: string | undefined, status: number, authority: string): void;
}

function forwardRequest(upstream: Upstream, request: IncomingMessage, response: ServerResponse): void {
  response.on('error', () => {});
  const target = URL.parse(request.url ?? '');
  const authorization = upstream.authorization();
  const refused = upstream.refusedHere(target?.hostname ?? '');
  if (authorization === undefined || refused !== undefined)
    return void refuseRequest(upstream, response, refused ?? 'no_lease', target?.host ?? '');
  attempt(upstream, request, response, authorization, mayReuse(request) ? 'kept' : 'new');
}

function refuseRequest(upstream: Upstream, response: ServerResponse, code: OwnRefusal, authority: string): void {
  const { status, sentence } = OWN_REFUSALS[code];
  upstream.note(code, status, authority);
  response.writeHead(status, { [REFUSAL_HEADER]: code, connection: 'close' }).end(`${sentence}\n`);
}

function refuseTunnel(upstream: Upstream, client: Socket, code: OwnRefusal, authority: string): void {
  const { status, sentence } = OWN_REFUSALS[code];
  upstream.note(code, status, authority);
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${REFUSAL_HEADER}: ${code}\r\nConnection: close`;
  client.end(`${head}\r\n\r\n${sentence}\n`);
}

/** The part of a host's name that its owner makes up at will; all of a name without a domain. */
const madeUp = (host: string): string => (getDomain(host) === null ? host : (getSubdomain(host) ?? ''));

/** A request that finds its kept connection closed is sent once more, on a new one. */
function attempt(
  upstream: Upstream,
  request: IncomingMessage,
  response: ServerResponse,
  authorization: string,
  connection: 'kept' | 'new',
): void {
  const { host, port, agent } = upstream;
  const onward = send({
    method: request.method ?? 'GET',
    path: request.url ?? '/',
    headers: fieldsWith(authorization, upstream.traceparent(), request),
    ...(connection === 'kept' ? { host, port, agent } : { createConnection: upstream.dial }),
    maxHeaderSize: HEAD_BYTES_MAX,
  });
  const drop = () => onward.destroy();
  response.once('close', drop);
  onward.once('close', () => response.off('close', drop)); // its connection may already be another request's
  onward.once('error', () => {
    const isLeased = upstream.authorization() !== undefined;
    if (response.headersSent) response.destroy();
    else if (onward.reusedSocket && isLeased && !response.destroyed)
      attempt(upstream, request, response, authorization, 'new');
    else response.writeHead(502).end();
  });
  onward.once('response', incoming => {
    const status = incoming.statusCode ?? 502;
    const refused = incoming.headers[REFUSAL_HEADER]?.toString();
    upstream.note(refused, status, URL.parse(request.url ?? '')?.host ?? '');
    response.sendDate = false;
    response.writeHead(status, incoming.statusMessage ?? '', answerFields(incoming));
    pipeline(incoming, response, () => {});
  });
  if (mayReuse(request)) onward.end();
  else pipeline(request, onward, () => {});
}

/** CONNECT: the head goes out with the lease's credential, everything after it untouched both ways. */
function forwardTunnel(upstream: Upstream, request: IncomingMessage, client: Socket, head: Buffer): void {
  client.on('error', () => {});
  const authority = request.url ?? '';
  const authorization = upstream.authorization();
  const refusedHere = upstream.refusedHere(authority.replace(/:\d*$/, ''));
  if (authorization === undefined || refusedHere !== undefined)
    return void refuseTunnel(upstream, client, refusedHere ?? 'no_lease', authority);
  const egressSocket = upstream.dial();
  const traceparent = upstream.traceparent();
  const traced = traceparent === undefined ? '' : `${PROXY_TRACEPARENT}: ${traceparent}\r\n`;
  egressSocket.write(
    `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\nProxy-Authorization: ${authorization}\r\n${traced}\r\n`,
  );
  const note = (text: string) => {
    const refused = new RegExp(`^${REFUSAL_HEADER}: *([a-z_]+)`, 'im').exec(text)?.[1];
    upstream.note(refused, statusOf(text), authority);
  };
  egressSocket.on('error', () => client.resetAndDestroy());
  const certified = upstream.certified(authority);
  if (certified !== undefined) return void openCertified({ client, head, site: egressSocket, note, pass: certified });
  if (head.length > 0) egressSocket.write(head);
  readHead(egressSocket, note);
  client.once('close', () => (client.readableEnded ? egressSocket.destroySoon() : egressSocket.destroy()));
  egressSocket.once('close', () => (egressSocket.readableEnded ? client.destroySoon() : client.resetAndDestroy()));
  client.pipe(egressSocket);
  egressSocket.pipe(client);
}

interface CertifiedTunnel {
  readonly client: Socket;
  /** Sent by the client before the tunnel was open. */
  readonly head: Buffer;
  readonly site: Socket;
  readonly note: (answer: string) => void;
  readonly pass: (client: Socket, site: Socket) => void;
}

/** Waits for the answer of the egress proxy, and passes the tunnel on where it is open. */
function openCertified({ client, head, site, note, pass }: CertifiedTunnel): void {
  let answer = Buffer.alloc(0);
  const gone = () => site.destroy();
  const refused = () => client.end(answer);
  let isRefused = false;
  const look = (chunk: Buffer) => {
    answer = Buffer.concat([answer, chunk]);
    const end = answer.indexOf('\r\n\r\n');
    if (isRefused || (end < 0 && answer.length < HEAD_BYTES_MAX)) return;
    const text = answer.subarray(0, Math.max(end, 0)).toString('latin1');
    note(text);
    isRefused = statusOf(text) !== 200;
    if (isRefused) return; // its sentence follows
    site.off('data', look).off('close', refused).pause();
    client.off('close', gone);
    client.write(answer.subarray(0, end + 4));
    if (answer.length > end + 4) site.unshift(answer.subarray(end + 4));
    if (head.length > 0) client.unshift(head);
    pass(client, site);
  };
  client.once('close', gone);
  site.on('data', look).once('close', refused);
}

const statusOf = (answer: string): number => Number(answer.split(' ')[1]);

const REPLACED: ReadonlySet<string> = new Set(['proxy-authorization', 'proxy-connection', PROXY_TRACEPARENT]);

/** The request's own fields, its proxy credential replaced by the lease's. */
const fieldsWith = (
  authorization: string,
  traceparent: string | undefined,
  { rawHeaders }: IncomingMessage,
): string[] => [
  'Proxy-Authorization',
  authorization,
  ...(traceparent === undefined ? [] : [PROXY_TRACEPARENT, traceparent]),
  ...fieldsWithout(rawHeaders, name => REPLACED.has(name)),
];

/** Passes the head of what a socket receives to `done`, beside its other readers. */
function readHead(socket: Socket, done: (text: string) => void): void {
  let text = '';
  const look = (chunk: Buffer) => {
    text += chunk.toString('latin1');
    if (!text.includes('\r\n\r\n') && text.length < HEAD_BYTES_MAX) return;
    socket.off('data', look);
    done(text.split('\r\n\r\n')[0] ?? '');
  };
  socket.on('data', look);
}
