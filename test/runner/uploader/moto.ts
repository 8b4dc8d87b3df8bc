import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { freePort } from '../../../local/free-port.ts';
import { eventually } from '../../eventually.ts';
import { testTool } from '../../tool.ts';

export interface Moto extends AsyncDisposable {
  readonly port: number;
}

/**
 * An S3 and STS server: https://docs.getmoto.org/en/latest/docs/server_mode.html. With certificate and key it speaks
 * TLS.
 */
export async function motoServer(host: string, tls?: { certFile: string; keyFile: string }): Promise<Moto> {
  const port = await freePort();
  const encrypted = tls ? ['-s', '-c', tls.certFile, '-k', tls.keyFile] : [];
  const program = testTool('moto_server');
  if (program === undefined) throw new Error('moto_server is not installed: npm test installs it');
  const child = spawn(program, ['-H', host, '-p', String(port), ...encrypted], {
    stdio: 'ignore',
    // Recordings in memory up to 64 MB.
    env: {
      ...process.env,
      MOTO_S3_DEFAULT_KEY_BUFFER_SIZE: String(64 * 1024 * 1024),
      S3_IGNORE_SUBDOMAIN_BUCKETNAME: 'true', // `s3.test` is a server, not a bucket
    },
  });
  await eventually('the S3 server listens', async () => {
    const socket = connect(port, host);
    await once(socket, 'connect');
    socket.destroy();
    return true;
  });
  return {
    port,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}
