import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { eventually } from '../../eventually.ts';
import { freePort } from '../../port.ts';

export interface Moto extends AsyncDisposable {
  readonly port: number;
}

/** An S3 and STS server: https://docs.getmoto.org/en/latest/docs/server_mode.html. With certificate and key it speaks TLS. */
export async function motoServer(host: string, tls?: { certFile: string; keyFile: string }): Promise<Moto> {
  const port = await freePort();
  const encrypted = tls ? ['-s', '-c', tls.certFile, '-k', tls.keyFile] : [];
  const child = spawn('moto_server', ['-H', host, '-p', String(port), ...encrypted], {
    stdio: 'ignore',
    // Recordings in memory up to 64 MB.
    env: {
      ...process.env,
      MOTO_S3_DEFAULT_KEY_BUFFER_SIZE: String(64 * 1024 * 1024),
      S3_IGNORE_SUBDOMAIN_BUCKETNAME: 'true', // `s3.test` is a server, not a bucket
    },
  });
  const missing = once(child, 'error').then(() => {
    throw new Error("moto_server is not installed: pip install 'moto[server]==5.2.1'");
  });
  await Promise.race([
    missing,
    eventually('the S3 server listens', async () => {
      const { connect } = await import('node:net');
      const socket = connect(port, host);
      await once(socket, 'connect');
      socket.destroy();
      return true;
    }),
  ]);
  return {
    port,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}
