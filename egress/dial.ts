import type { LookupFunction, Socket } from 'node:net';
import { connect, isIP } from 'node:net';
import { isRefusal, type ProxyRefusal } from './refusal.ts';

export interface Dialed {
  readonly socket: Socket;
  /** Which of the addresses it is. */
  readonly address: string;
}

export interface Dialer {
  /**
   * Connects to one of the addresses, which have been checked; resolves no name. `signal` destroys a pending attempt.
   */
  dial(addresses: readonly string[], port: number, signal: AbortSignal): Promise<Dialed | ProxyRefusal>;
}

/** RFC 8305 asks for 250 ms between attempts; slow paths are common behind NAT. */
const ATTEMPT_MS = 500;

/** Dials straight: IPv4 and IPv6 in turn, as RFC 8305 has it, among the given addresses alone. */
export function directDialer(options: { timeoutMs: number }): Dialer {
  return {
    async dial(addresses, port, signal) {
      const answers = addresses.map(address => ({ address, family: isIP(address) }));
      const lookup: LookupFunction = (_name, _options, answer) => answer(null, answers);
      // The name is never resolved: `lookup` above answers with the checked addresses.
      const socket = connect({
        host: 'checked.invalid',
        port,
        lookup,
        autoSelectFamily: true,
        autoSelectFamilyAttemptTimeout: ATTEMPT_MS,
        allowHalfOpen: true,
        noDelay: true,
      });
      const refusal = await waitForConnect(socket, 'connect', options.timeoutMs, signal);
      return isRefusal(refusal) ? refusal : { socket, address: socket.remoteAddress ?? '' };
    },
  };
}

/** Waits for a socket's `connect` or `secureConnect`; a socket that does not get there is destroyed. */
export function waitForConnect(
  socket: Socket,
  event: 'connect' | 'secureConnect',
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Socket | ProxyRefusal> {
  return new Promise(done => {
    const settle = (outcome: Socket | ProxyRefusal) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      socket.off('error', onError).off(event, onConnect);
      if (outcome !== socket) socket.on('error', () => {}).destroy();
      done(outcome);
    };
    const onAbort = () => settle({ refused: 'connect_failed' });
    const onError = (error: NodeJS.ErrnoException) =>
      settle({ refused: error.code === 'ETIMEDOUT' ? 'connect_timeout' : 'connect_failed' });
    const onConnect = () => settle(socket);
    const timer = setTimeout(() => settle({ refused: 'connect_timeout' }), timeoutMs);
    socket.once('error', onError).once(event, onConnect);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
}
