import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Ports that systems give to outgoing connections and to servers that ask for any port begin at 32768, those of Kubernetes' node ports at 30000. One
 * below them is not taken by chance between now and when it is listened on.
 */
const LOWEST = 20_000;
const HIGHEST = 29_999;
const TRIES = 100;

const isFree = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });

/** A free TCP port of loopback: `wanted` if it is free, else a random one. Throws if none is found. */
export async function freePort(wanted?: number): Promise<number> {
  let port = wanted || randomInt(LOWEST, HIGHEST);
  for (let tries = 0; tries < TRIES; tries += 1) {
    if (await isFree(port)) return port;
    port = randomInt(LOWEST, HIGHEST);
  }
  throw new Error(`No free port was found on 127.0.0.1 between ${LOWEST} and ${HIGHEST}.`);
}
