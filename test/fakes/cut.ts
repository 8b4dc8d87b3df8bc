import { connect, createServer, type Socket } from 'node:net';

/** A proxy to a TCP server whose connections can be cut and restored, as a network's are. */
export async function cuttableWire(host: string, port: number) {
  const sockets = new Set<Socket>();
  let whole = true;
  const server = createServer(near => {
    if (!whole) {
      near.destroy();
      return;
    }
    const far = connect(port, host);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.pipe(other);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  const cut = () => {
    whole = false;
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: address.port,
    /** Ends every connection and refuses new ones. */
    cut,
    restore: () => {
      whole = true;
    },
    async [Symbol.asyncDispose]() {
      cut();
      await new Promise(resolve => server.close(resolve));
    },
  };
}
