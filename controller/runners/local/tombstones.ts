import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { leaseMcpPath } from '../../../contract/names.ts';
import { passOn } from '../../../http/pass-on.ts';
import { maySharePort } from '../../../http/share-port.ts';
import { takeUrlToken } from '../../../http/url-token.ts';
import { type Clock, neverAborts } from '../../../time/clock.ts';

/** Keeps the ports of ended runners, so that clients that are still connected read there why their lease has ended. */
export interface PortTombstones {
  /**
   * Listens in place of a runner that is ending, beside it where the system allows that; resolves when it does. Does nothing when it
   * does already, or when the port is taken: call again when the process has ended.
   */
  keep(runnerId: string, port: number): Promise<void>;
}

export interface TombstoneOptions {
  controllerUrl: Promise<string>;
  /** Aborts when the controller stops: every port is given back. */
  stopped: AbortSignal;
  clock: Clock;
}

/** As long as an idle lease lives by default. */
const KEEP_MS = 600_000;
/** The oldest port is given back for another one. */
const PORTS_MAX = 64;

export function portTombstones({ controllerUrl, stopped, clock }: TombstoneOptions): PortTombstones {
  const kept = new Map<string, Server>();

  function giveBack(runnerId: string): void {
    const server = kept.get(runnerId);
    kept.delete(runnerId);
    server?.close();
    server?.closeAllConnections();
  }

  const answer = async (runnerId: string, request: IncomingMessage, response: ServerResponse) => {
    takeUrlToken(request); // it is passed on as a header
    passOn(request, response, new URL(leaseMcpPath(runnerId), await controllerUrl));
  };

  stopped.addEventListener('abort', () => [...kept.keys()].forEach(giveBack), { once: true });
  return {
    async keep(runnerId, port) {
      if (kept.has(runnerId) || stopped.aborted) return;
      const [oldest] = kept.keys();
      if (oldest !== undefined && kept.size >= PORTS_MAX) giveBack(oldest);
      const server = createServer((request, response) => void answer(runnerId, request, response));
      kept.set(runnerId, server);
      server.on('error', () => giveBack(runnerId));
      server.listen({ port, host: '127.0.0.1', reusePort: maySharePort }).unref();
      void clock.sleep(KEEP_MS, neverAborts(), true).then(() => giveBack(runnerId));
      await once(server, 'listening', { signal: stopped }).catch(() => undefined);
    },
  };
}
