import { once } from 'node:events';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { DEFAULT_FILE_LIMITS, fileLimits } from '../../runner/files/limits.ts';
import { type KeptFile, type SessionFiles, sessionFiles } from '../../runner/files/session-files.ts';
import { serveFiles } from '../../runner/files-http.ts';
import { uploadByName } from '../../runner/tools/upload-by-name.ts';

let folder: string;
let files: SessionFiles;
let kept: KeptFile;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'omicron-files-'));
  files = sessionFiles({
    ...{ outputDir: folder, limits: fileLimits(DEFAULT_FILE_LIMITS), beforeFirst: async () => {} },
    conceal: async text => text,
    onAdded: () => {},
  });
  kept = await files.put('report.txt', [Buffer.from('as it was given')] as unknown as AsyncIterable<Uint8Array>);
  // A compromised browser of the same user puts a link where the file was.
  await writeFile(join(folder, 'other'), 'of the runner alone');
  await rm(kept.path);
  await symlink(join(folder, 'other'), kept.path);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it('a file that became a link is not followed when it is fetched', async () => {
  const server = createServer((request, response) => {
    serveFiles(files, request, response, () => {}).catch(() => response.writeHead(500).end());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo; // a TCP server has a port
  const answer = await fetch(`http://127.0.0.1:${port}/files/report.txt`);
  expect([answer.status, await answer.text()]).toEqual([500, '']);
  server.close();
});

it('a file that became a link is not followed when it is uploaded', async () => {
  let called = false;
  const ask = async () => {
    called = true;
    return { content: [] };
  };
  const lease = { ...files, mayReadBytes: () => true, uploadsDir: join(folder, 'uploads-of-the-browser') };
  const { isError, content } = await uploadByName({ paths: ['report.txt'] }, { lease: { files: lease }, ask });
  const [said] = content as { text: string }[];
  expect([isError, said?.text]).toEqual([true, expect.stringContaining('"report.txt\\" is gone from the runner')]);
  expect(said?.text).not.toContain(folder);
  expect(called).toBe(false);
});
