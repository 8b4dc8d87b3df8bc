import type { Socket } from 'node:net';

/**
 * Pipes both ways between a client and a site until both directions have ended; each may end alone (half-close). An
 * error, or the sockets' idle timeout, closes both at once. `pipe` buffers one high-water mark per direction at most.
 */
export function pipeBoth(client: Socket, site: Socket): void {
  pipeOneWay(client, site, () => site.destroy());
  // A reset, so that a truncated transfer cannot be mistaken for a complete one.
  pipeOneWay(site, client, () => client.resetAndDestroy());
}

function pipeOneWay(from: Socket, to: Socket, abort: () => void): void {
  from.on('error', abort);
  from.once('timeout', () => {
    from.destroy();
    abort();
  });
  from.once('close', () => {
    if (!from.readableEnded) abort();
    else if (to.writable) to.destroySoon(); // ended cleanly: a slow reader may still be draining it
  });
  from.pipe(to);
}
