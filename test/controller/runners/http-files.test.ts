import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { httpRunnerFiles } from '../../../controller/runners/http-files.ts';

it('says that a file was sent too slowly, not that its lease has ended', async () => {
  const runner = createServer({ requestTimeout: 50, headersTimeout: 50, connectionsCheckingInterval: 20 }, () => {});
  await once(runner.listen(0, '127.0.0.1'), 'listening');
  const content = new PassThrough();
  content.write('the first byte, and no other');
  try {
    const { port } = runner.address() as AddressInfo; // it listens on a port
    const file = { name: 'report.pdf', content, bytes: 1_000 };
    await expect(httpRunnerFiles.put(`http://127.0.0.1:${port}`, 'token', file)).rejects.toMatchObject({
      code: 'invalid_request',
      message: 'The file was not sent within 30 seconds.',
    });
  } finally {
    content.destroy();
    runner.close();
    runner.closeAllConnections();
  }
});
