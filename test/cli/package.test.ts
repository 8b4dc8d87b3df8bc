import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDemoSite } from '../../local/demo-site.ts';
import { ready, renewed } from '../fakes/controller/clients.ts';
import { type FakeController, startFakeController } from '../fakes/controller.ts';
import { newFolder, ROOT, run } from '../local/machine.ts';

describe('the published package', { timeout: 180_000 }, () => {
  let folder: string;
  let installed: string;
  let controller: FakeController;
  beforeAll(async () => {
    folder = await newFolder();
    controller = await startFakeController();
    const packed = await run('npm', ['pack', '--silent', '--pack-destination', folder]);
    expect(packed.code, packed.stderr).toBe(0);
    const [tarball] = (await readdir(folder)).filter(name => name.endsWith('.tgz'));
    // as npm lays it out: the package beside its dependencies
    installed = join(folder, 'node_modules', 'omicron-browser');
    await mkdir(installed, { recursive: true });
    await run('tar', ['-xzf', join(folder, tarball ?? ''), '-C', installed, '--strip-components', '1']);
    for (const name of await readdir(join(ROOT, 'node_modules')))
      if (!name.startsWith('.')) await symlink(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
  }, 180_000);
  afterAll(async () => {
    await controller.close();
    await rm(folder, { recursive: true, force: true });
    await rm(join(ROOT, 'dist'), { recursive: true, force: true });
  });

  it('gives an application the SDK as JavaScript, with types', async () => {
    await writeFile(
      join(folder, 'app.mts'),
      `import { BrowserSessions, OmicronError, type Lease } from 'omicron-browser';
       const sessions = new BrowserSessions({ url: process.argv[2] ?? '', serviceSecret: process.argv[3] ?? '' });
       const lease: Lease = await sessions.acquire({ userId: 'ada', conversationId: 'c' });
       await lease.heartbeat();
       const error = new OmicronError('lease_ended', lease.headers.Authorization ?? '');
       // @ts-expect-error: the types are real, not any
       lease.sessionId = 7;
       console.log(lease.mcpUrl, error.message);`,
    );
    controller.answerNext(ready(), renewed());
    const app = await run(process.execPath, ['app.mts', controller.url, controller.serviceSecret], { cwd: folder });
    expect(app.stderr).toBe('');
    expect(app.stdout).toBe('http://127.0.0.1:1/mcp Bearer lease-token\n');
    const compilerOptions = {
      ...{ module: 'nodenext', target: 'es2024', lib: ['es2024', 'esnext.disposable'], strict: true, noEmit: true },
      ...{ skipLibCheck: false, types: ['node'] },
    };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['app.mts'] }));
    const checked = await run(join(ROOT, 'node_modules', '.bin', 'tsc'), ['-p', folder], { cwd: folder });
    expect(checked.stdout).not.toContain('omicron-browser');
    expect(checked.stdout).not.toContain('app.mts');
  });

  it('brings the command whole: a stack that starts runners, and leases from them', async () => {
    const bin = join(installed, 'client', 'bin.js');
    expect((await run(process.execPath, [bin, '--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    const doctor = await run(process.execPath, [bin, '--folder', join(folder, 'stack'), 'doctor']);
    expect(JSON.parse(doctor.stdout).checks).toContainEqual(expect.objectContaining({ check: 'runner', ok: true }));
    const site = await startDemoSite();
    const smoke = await run(process.execPath, [bin, '--folder', join(folder, 'stack'), 'smoke', site.url], {
      env: { OMICRON_EGRESS: 'off' }, // a page of this machine
    });
    await site.close();
    expect(smoke.stderr).not.toContain('FAILED');
    expect(smoke.code).toBe(0);
    expect(JSON.parse(smoke.stdout).title).toBe('The Demo Bakery');
  });
});
