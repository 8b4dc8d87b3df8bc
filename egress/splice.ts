import type { Socket } from 'node:net';

/**
 * Joins a client and a site until both directions have ended; each may end alone (half-close). An error, or no byte
 * either way for the site socket's timeout, closes both at once. `pipe` holds one high-water mark per direction at most.
 */
export function splice(client: Socket, site: Socket): void {
  const follow = (from: Socket, to: Socket) => {
    from.once('error', () => to.destroy());
    // What was cut off must not look whole; what ended well may still be on its way to a slow reader.
    from.once('close', () => (from.readableEnded && to.writable ? to.destroySoon() : settleOrDestroy(from, to)));
    from.once('timeout', () => {
      from.destroy();
      to.destroy();
    });
    from.pipe(to);
  };
  follow(client, site);
  follow(site, client);
}

const settleOrDestroy = (from: Socket, to: Socket): void => {
  if (!(from.readableEnded && to.writableEnded)) to.destroy();
};
