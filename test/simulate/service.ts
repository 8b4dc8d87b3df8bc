import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** One address in front of several replicas, as a Service is: each connection goes to one of those that serve. */
export interface Service extends AsyncDisposable {
  readonly port: number;
  /** Ports of the replicas that serve, now. */
  readonly ports: Set<number>;
}

export async function startService(): Promise<Service> {
  const ports = new Set<number>();
  const open = new Set<Socket>();
  let next = 0;
  const server = createServer(socket => {
    const port = [...ports][next++ % Math.max(1, ports.size)];
    if (port === undefined) return void socket.destroy();
    const replica = connect(port, '127.0.0.1');
    for (const [one, other] of [
      [socket, replica],
      [replica, socket],
    ] as const) {
      open.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        open.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port, // it listens on TCP
    ports,
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}
