import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { callText } from '../runner/start.ts';
import { startLease } from '../runner/start-lease.ts';
import { pdfOf } from '../site/pdf.ts';
import { newFolder, ROOT } from './machine.ts';
import { cloneWith, stackPackages } from './stack-clone.ts';

/** Parts that the local stack runs; the console's pages are built and committed. */
const ROOMS = [
  'cli',
  'local',
  'controller',
  'runner',
  'egress',
  'console/server',
  'client',
  'contract',
  'http',
  'process',
  'time',
];
/** Loaded where a setting of a deployment asks for them: Kubernetes, S3 and KMS, signing in by OIDC. */
const OF_DEPLOYMENTS = /^(?:@kubernetes\/|@aws-sdk\/|@smithy\/|openid-client$)/;

const IMPORTS = /\bfrom '([@a-z][^']*)';|\bimport\('([@a-z][^']*)'\)/g;

const PDF = pdfOf('Total 123.45 EUR');

it('installs for the stack alone every package that a part of it imports', () => {
  const packages = stackPackages();
  const missing = ROOMS.flatMap(room =>
    readdirSync(join(ROOT, room), { recursive: true, encoding: 'utf8' })
      .filter(file => file.endsWith('.ts') && !file.includes('node_modules'))
      .flatMap(file => {
        const text = readFileSync(join(ROOT, room, file), 'utf8');
        const names = [...text.matchAll(IMPORTS)].map(([, one, other]) => packageOf(one ?? other ?? ''));
        return names
          .filter(name => !name.startsWith('node:') && !OF_DEPLOYMENTS.test(name))
          .filter(name => !packages.has(`node_modules/${name}`) && !packages.has(`${room}/node_modules/${name}`))
          .map(name => `${room}/${file}: ${name}`);
      }),
  );
  expect(missing).toEqual([]);
});

it('reads a PDF in a clone that was set up for the stack alone', async () => {
  const folder = await newFolder();
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  cloneWith(stackPackages(), folder);
  const site = createServer((_request, response) =>
    response.writeHead(200, { 'content-type': 'application/pdf' }).end(PDF),
  );
  await once(site.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void site.close());
  const { port } = site.address() as AddressInfo; // a TCP server has one

  await using lease = await startLease({ cwd: folder, recordVideo: false, toolset: 'both' });
  await callText(lease.client, 'browser_navigate', { url: `http://127.0.0.1:${port}/bill.pdf` });
  expect(await callText(lease.client, 'browser_file_read', { name: 'bill.pdf' })).toContain('Total 123.45 EUR');
  // Patterns of agents are run beside the runner's own thread.
  expect(await callText(lease.client, 'browser_find', { regex: '/a+b/' })).not.toContain('Cannot find');
});

/** `@scope/name/part` is of `@scope/name`. */
const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
