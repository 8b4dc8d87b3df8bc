import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDemoSite } from '../../local/demo-site.ts';
import { pythonOf } from '../../local/test-tools.ts';
import { publish } from '../../release/publish.ts';
import { readVersion } from '../../release/version.ts';
import { ready, renewed } from '../fakes/controller/clients.ts';
import { type FakeController, startFakeController } from '../fakes/controller.ts';
import { newFolder, ROOT, run } from '../local/machine.ts';
import { type Installed, installTarball, PUBLISHED, pack } from '../packages/install.ts';

const INSTALL_MS = 180_000;
const MB = 1_000_000;

/** The packages that the tests below install: lines of the command that packs them again. */
const packed: string[] = [];
async function packOnce(workspace: string): Promise<string> {
  const tarball = await pack(workspace, folder);
  const digest = createHash('sha256')
    .update(await readFile(tarball))
    .digest('hex');
  packed.push(`built ${workspace}, sha256:${digest}`);
  return tarball;
}

let folder: string;
beforeAll(async () => {
  folder = await newFolder();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Node {
  readonly version: string;
  run(args: string[], cwd?: string): ReturnType<typeof run>;
}

/** A Node.js that only says that it is an old one. */
const pretended = (version: string): Node => {
  const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`;
  return { version, run: args => run(process.execPath, ['--import', `data:text/javascript,${pretend}`, ...args]) };
};

/** Whatever Node.js the machine has, newest last; node_modules' own is among them. */
async function nodesOfMachine(): Promise<Node[]> {
  const programs = (process.env.PATH ?? '').split(delimiter).map(path => join(path, 'node'));
  const nodes = await Promise.all(
    programs.filter(existsSync).map(async program => ({
      version: (await run(program, ['--version'])).stdout.trim().slice(1),
      run: (args: string[], cwd?: string) => run(program, args, cwd === undefined ? {} : { cwd }),
    })),
  );
  return nodes.sort((a, b) => majorOf(a) - majorOf(b));
}
const majorOf = ({ version }: Node) => Number(version.split('.')[0]);

describe('the package omicron-browser', { timeout: INSTALL_MS }, () => {
  let app: string;
  let installed: Installed;
  let controller: FakeController;
  beforeAll(async () => {
    controller = await startFakeController();
    app = join(folder, 'sdk');
    installed = await installTarball(await packOnce(PUBLISHED.sdk), app);
  }, INSTALL_MS);
  afterAll(() => controller.close());

  it('brings at most 10 packages and 20 MB', () => {
    expect(installed.packages.length).toBeLessThanOrEqual(10);
    expect(installed.bytes).toBeLessThanOrEqual(20 * MB);
  });

  it('gives an application the SDK as JavaScript, with types that pass a strict check', async () => {
    await writeFile(
      join(app, 'app.mts'),
      `import { BrowserSessions, OmicronError, type Lease } from 'omicron-browser';
       const sessions = new BrowserSessions({ url: process.argv[2] ?? '', serviceSecret: process.argv[3] ?? '' });
       const lease: Lease = await sessions.acquire({ userId: 'ada', conversationId: 'c' });
       await lease.heartbeat();
       const error = new OmicronError('lease_ended', lease.headers.Authorization ?? '');
       // @ts-expect-error: the types are real, not any
       lease.sessionId = 7;
       console.log(lease.mcpUrl, error.message);`,
    );
    const compilerOptions = {
      ...{ module: 'nodenext', target: 'es2022', lib: ['es2024', 'esnext.disposable'], strict: true },
      ...{ skipLibCheck: false, types: ['node'], typeRoots: [join(ROOT, 'node_modules', '@types')] },
    };
    await writeFile(join(app, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['app.mts'] }));
    const checked = await run(join(ROOT, 'node_modules', '.bin', 'tsc'), ['-p', app], { cwd: app });
    expect(checked).toEqual({ code: 0, stdout: '', stderr: '' });
    const oldest = (await nodesOfMachine()).find(node => majorOf(node) >= 20);
    controller.answerNext(ready(), renewed());
    const ran = await oldest?.run(['app.mjs', controller.url, controller.serviceSecret], app);
    expect(ran?.stderr).toBe('');
    expect(ran?.stdout).toBe('http://127.0.0.1:1/mcp Bearer lease-token\n');
  });

  it('holds a README and the licence', async () => {
    const files = await readdir(join(app, 'node_modules', PUBLISHED.sdk));
    expect(files.sort()).toEqual(['LICENSE', 'README.md', 'dist', 'package.json']);
  });

  it('says on an old Node.js which one it needs', async () => {
    await writeFile(join(app, 'old.mjs'), "import 'omicron-browser';");
    const { code, stderr } = await pretended('18.20.8').run([join(app, 'old.mjs')]);
    expect(code).toBe(1);
    expect(stderr).toContain('omicron-browser needs Node.js 20 or newer, but this is 18.20.8: install a newer one');
  });
});

describe('the package @omicron-browser/cli', { timeout: INSTALL_MS }, () => {
  let home: string;
  let installed: Installed;
  let bin: string;
  beforeAll(async () => {
    home = join(folder, 'cli');
    installed = await installTarball(await packOnce(PUBLISHED.cli), home);
    bin = join(home, 'node_modules', '.bin', 'omicron-browser');
  }, INSTALL_MS);

  it('brings neither Node.js nor clients of clouds and clusters', () => {
    expect(installed.packages).toContain('fastify');
    expect(installed.packages.filter(name => /^(node$|@pulumi\/|cdk8s|@aws-sdk\/|@kubernetes\/)/.test(name))).toEqual(
      [],
    );
  });

  it('holds a README and the licence', async () => {
    const files = await readdir(join(home, 'node_modules', PUBLISHED.cli));
    expect(files.sort()).toEqual(['LICENSE', 'README.md', 'bin.js', 'dist', 'package.json']);
  });

  it('brings the command whole: a stack that starts runners, and leases from them', async () => {
    expect((await run(bin, ['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    const doctor = await run(bin, ['--folder', join(folder, 'stack'), 'doctor']);
    expect(JSON.parse(doctor.stdout).checks).toContainEqual(expect.objectContaining({ check: 'runner', ok: true }));
    const site = await startDemoSite();
    const smoke = await run(bin, ['--folder', join(folder, 'stack'), 'smoke', site.url], {
      env: { OMICRON_EGRESS: 'off' }, // a page of this machine
    });
    await site.close();
    expect(smoke.stderr).not.toContain('FAILED');
    expect(smoke.code).toBe(0);
    expect(JSON.parse(smoke.stdout).title).toBe('The Demo Bakery');
  });

  it('says which packages an upload to S3 needs', async () => {
    const uploader = join(home, 'node_modules', PUBLISHED.cli, 'dist', 'runner', 'uploader', 'main.js');
    const { code, stderr } = await run(process.execPath, [uploader], {
      env: {
        OMICRON_CONTROLLER_URL: 'http://127.0.0.1:1',
        OMICRON_RUNNER_ID: '0b8f2f3e-8a1c-4a39-9c9a-3f1a3c8d2b10',
        OMICRON_OUTPUT_DIR: folder,
        OMICRON_ARTIFACT_STORE: 's3://bucket',
        AWS_REGION: 'eu-central-1',
      },
    });
    expect(stderr).toContain('@aws-sdk/client-s3 is not installed');
    expect(code).toBe(2);
  });

  it('says on an old Node.js which one it needs', async () => {
    const old = (await nodesOfMachine()).find(node => majorOf(node) < 24) ?? pretended('20.20.2');
    const { code, stderr } = await old.run([bin, 'doctor']);
    expect(code).toBe(1);
    expect(stderr).toBe(
      `omicron-browser needs Node.js 24 or newer, but this is ${old.version}: ` +
        'install it (https://nodejs.org/en/download, or "nvm install 24") and run the command again.\n',
    );
  });
});

// here, because packing builds in the folders of the workspaces: no other file may do it meanwhile
it('[P3] are published by one command, of which everything but the sending is tried here; its packages have the same bytes as before', {
  timeout: INSTALL_MS,
}, async () => {
  const said: string[] = [];
  await publish({
    dryRun: true,
    namesAreReserved: false,
    isUnattested: false,
    environment: {},
    python: pythonOf(ROOT, 'python_sdk'),
    log: line => said.push(line),
  });
  for (const name of Object.values(PUBLISHED)) expect(said).toContain(`+ ${name}@${await readVersion()}`);
  expect(said).toEqual(expect.arrayContaining(packed));
  expect(said.join('\n')).toContain('would upload 1 wheel by twine');
  expect(said.join('\n')).toContain('npm packages are without provenance: only jobs of');
});
