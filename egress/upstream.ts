import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { withoutBrackets } from '../contract/policy/hosts.ts';
import { type Dialer, waitForConnect } from './dial.ts';
import { isRefusal, type ProxyRefusal } from './refusal.ts';

/** An HTTP proxy for all connections (B6). It is configured, so it is trusted and may have an internal address. */
export interface UpstreamProxy {
  readonly url: URL;
  /** Basic credential `user:password`, read from a file. */
  readonly credential: string | undefined;
  /** PEM of the authority that signed an https proxy's certificate. */
  readonly ca: string | undefined;
}

const ANSWER_BYTES_MAX = 16 * 1024;

/**
 * Dials through another proxy: `CONNECT address:port`, for http sites too, so that the other proxy connects to
 * the address that was checked here, and resolves no name itself.
 */
export function upstreamDialer(upstream: UpstreamProxy, options: { timeoutMs: number }): Dialer {
  const { url, credential, ca } = upstream;
  const host = withoutBrackets(url.hostname);
  const secure = url.protocol === 'https:';
  const port = Number(url.port) || (secure ? 443 : 80);
  const authorization = credential
    ? `Proxy-Authorization: Basic ${Buffer.from(credential).toString('base64')}\r\n`
    : '';

  const reach = (signal: AbortSignal): Promise<Socket | ProxyRefusal> => {
    const common = { host, port, allowHalfOpen: true, noDelay: true };
    if (!secure) return waitForConnect(connectTcp(common), 'connect', options.timeoutMs, signal);
    const name = isIP(host) === 0 ? { servername: host } : {};
    return waitForConnect(
      connectTls({ ...common, ...name, ...(ca ? { ca } : {}) }),
      'secureConnect',
      options.timeoutMs,
      signal,
    );
  };

  return {
    async dial(addresses, targetPort, signal) {
      let last: ProxyRefusal = { refused: 'connect_failed' };
      for (const address of addresses) {
        const socket = await reach(signal);
        if (isRefusal(socket)) return socket;
        const authority = isIP(address) === 6 ? `[${address}]:${targetPort}` : `${address}:${targetPort}`;
        socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${authorization}\r\n`);
        const answer = await readHead(socket, options.timeoutMs, signal);
        if (answer === 200) return { socket, address };
        socket.destroy();
        if (signal.aborted) return last;
        last =
          answer === 407
            ? { refused: 'connect_failed', detail: "the deployment's upstream proxy did not accept its credential" }
            : { refused: answer === 504 || answer === null ? 'connect_timeout' : 'connect_failed' };
      }
      return last;
    },
  };
}

/** Reads the head of the answer and leaves the rest unread. Resolves the status, or null when there is none. */
function readHead(socket: Socket, timeoutMs: number, signal: AbortSignal): Promise<number | null> {
  return new Promise(done => {
    let head = Buffer.alloc(0);
    const settle = (status: number | null) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', fail);
      socket.off('readable', onReadable).off('error', fail).off('close', fail).off('end', fail);
      if (status !== 200) socket.on('error', () => {});
      done(status);
    };
    const fail = () => settle(null);
    const onReadable = () => {
      for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) {
        head = Buffer.concat([head, chunk]);
        const end = head.indexOf('\r\n\r\n');
        if (end === -1 && head.length <= ANSWER_BYTES_MAX) continue;
        const status =
          end === -1 ? null : Number(/^HTTP\/1\.[01] ([0-9]{3})/.exec(head.toString('latin1', 0, end))?.[1]);
        const rest = head.subarray(end + 4);
        settle(status === null || Number.isNaN(status) ? null : status >= 200 && status < 300 ? 200 : status);
        if (end !== -1 && rest.length > 0) socket.unshift(rest);
        return;
      }
    };
    const timer = setTimeout(fail, timeoutMs);
    socket.on('readable', onReadable).once('error', fail).once('close', fail).once('end', fail);
    signal.addEventListener('abort', fail, { once: true });
  });
}
