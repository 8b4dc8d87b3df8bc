import type { Socket } from 'node:net';

/**
 * Joins a client and a site until both directions have ended; each may end alone (half-close). An error, or no byte
 * either way for the sockets' timeout, closes both at once. `pipe` holds one high-water mark per direction at most.
 */
export function splice(client: Socket, site: Socket): void {
  follow(client, site, () => site.destroy());
  // A reset, so that what was cut off cannot be taken for whole.
  follow(site, client, () => client.resetAndDestroy());
}

function follow(from: Socket, to: Socket, cut: () => void): void {
  from.on('error', cut);
  from.once('timeout', () => {
    from.destroy();
    cut();
  });
  from.once('close', () => {
    if (!from.readableEnded) cut();
    else if (to.writable) to.destroySoon(); // what ended well may still be on its way to a slow reader
  });
  from.pipe(to);
}
