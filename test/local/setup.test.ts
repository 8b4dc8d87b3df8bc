import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { installTools, type Machine } from '../../local/install-tools.ts';
import type { MachineTools } from '../../local/machine-tools.ts';
import { installTestTools, missingTestTools, PYTHON, type TestMachine, type TestTool } from '../../local/test-tools.ts';
import { newFolder, ROOT, run } from './machine.ts';

/** A machine on which each command may change what is found. */
function machine(options: {
  found: Partial<MachineTools>;
  mayApt?: boolean;
  starts?: (browser: string) => boolean;
  after?: Record<string, Partial<MachineTools>>;
}): { machine: Machine; commands: string[] } {
  const commands: string[] = [];
  const found: MachineTools = { browser: undefined, ffmpeg: undefined, ...options.found };
  const done = (command: string): boolean => {
    commands.push(command);
    const change = options.after?.[command];
    Object.assign(found, change);
    return change !== undefined;
  };
  return {
    commands,
    machine: {
      find: () => ({ ...found }),
      starts: options.starts ?? (() => true),
      run: (command, args) => done([command, ...args].join(' ')),
      playwright: args => done(['playwright', ...args].join(' ')),
      mayApt: options.mayApt ?? false,
      say: () => {},
    },
  };
}

const PLAYWRIGHT = 'playwright install --only-shell chromium ffmpeg';
const apt = (name: string) => `apt-get install -y --no-install-recommends ${name}`;

describe('setting a machine up', () => {
  it('takes what is on the machine and installs nothing', () => {
    const { machine: m, commands } = machine({ found: { browser: '/b', ffmpeg: '/f' }, mayApt: true });
    expect(installTools(m)).toEqual({ browser: '/b', ffmpeg: '/f' });
    expect(commands).toEqual([]);
  });

  it('lets Playwright install what is missing', () => {
    const { machine: m, commands } = machine({
      found: { ffmpeg: '/f' },
      mayApt: true,
      after: { [PLAYWRIGHT]: { browser: '/playwright' } },
    });
    expect(installTools(m)).toEqual({ browser: '/playwright', ffmpeg: '/f' });
    expect(commands).toEqual([PLAYWRIGHT]);
  });

  it('then uses apt, as root: the headless shell, or chromium where there is none', () => {
    const { machine: m, commands } = machine({
      found: {},
      mayApt: true,
      after: { [apt('chromium')]: { browser: '/usr/bin/chromium' }, [apt('ffmpeg')]: { ffmpeg: '/usr/bin/ffmpeg' } },
    });
    expect(installTools(m)).toEqual({ browser: '/usr/bin/chromium', ffmpeg: '/usr/bin/ffmpeg' });
    expect(commands).toEqual([
      PLAYWRIGHT,
      'apt-get update',
      apt('chromium-headless-shell'),
      apt('chromium'),
      apt('ffmpeg'),
    ]);
  });

  it('installs the libraries that a downloaded browser misses', () => {
    let libraries = false;
    const { machine: m, commands } = machine({
      found: { browser: '/playwright', ffmpeg: '/f' },
      mayApt: true,
      starts: () => libraries,
    });
    const installing = {
      ...m,
      playwright: (args: string[]) => {
        libraries = args[0] === 'install-deps';
        return m.playwright(args);
      },
    };
    expect(installTools(installing)).toEqual({ browser: '/playwright', ffmpeg: '/f' });
    expect(commands).toContain('playwright install-deps chromium');
  });

  it('names what is missing and the three ways to get it when nothing helps', () => {
    const { machine: m, commands } = machine({ found: {} });
    expect(() => installTools(m)).toThrow(
      /a Chromium browser and ffmpeg[\s\S]*playwright-core install[\s\S]*apt-get install[\s\S]*OMICRON_CHROMIUM=/,
    );
    expect(commands).toEqual([PLAYWRIGHT]);
  });
});

describe('setting a machine up for tests', () => {
  /** A machine without some tools, on which each command may bring one. */
  function testMachine(options: { missing: TestTool[]; mayApt?: boolean; brings?: Record<string, TestTool[]> }) {
    const commands: string[] = [];
    let missing = options.missing;
    const machine: TestMachine = {
      missing: () => missing,
      run: (command, args) => {
        const line = [command, ...args].join(' ');
        commands.push(line);
        const brought = options.brings?.[line];
        missing = missing.filter(tool => !brought?.includes(tool));
        return brought !== undefined;
      },
      mayApt: options.mayApt ?? false,
      say: () => {},
    };
    return { machine, commands };
  }
  const venv = 'python3 -m venv .omicron/moto';
  const pip = '.omicron/moto/bin/pip install --quiet moto[server]==5.2.1';

  it('installs nothing where everything is there', () => {
    const { machine: m, commands } = testMachine({ missing: [], mayApt: true });
    installTestTools(m);
    expect(commands).toEqual([]);
  });

  it('installs programs with apt, as root, and the S3 server with pip', () => {
    const { machine: m, commands } = testMachine({
      missing: ['pgbouncer', 'promtool', 'moto_server'],
      mayApt: true,
      brings: {
        'apt-get update': [],
        [apt('pgbouncer prometheus')]: ['pgbouncer', 'promtool'],
        [venv]: [],
        [pip]: ['moto_server'],
      },
    });
    installTestTools(m);
    expect(commands).toEqual(['apt-get update', apt('pgbouncer prometheus'), venv, pip]);
  });

  it('installs what Debian’s Python lacks for environments', () => {
    const brings: Record<string, TestTool[]> = {
      'apt-get update': [],
      [apt('python3-venv')]: [],
      [pip]: ['moto_server'],
    };
    const { machine: m, commands } = testMachine({ missing: ['moto_server'], mayApt: true, brings });
    const withPackage = {
      ...m,
      run: (command: string, args: string[]) => {
        if (commands.includes(apt('python3-venv'))) brings[venv] = [];
        return m.run(command, args);
      },
    };
    installTestTools(withPackage);
    expect(commands).toEqual([venv, 'apt-get update', apt('python3-venv'), venv, pip]);
  });

  it('keeps two versions of the MCP clients of Python apart', () => {
    const { machine: m, commands } = testMachine({
      missing: ['python_mcp_1', 'python_mcp_2'],
      brings: {
        'python3 -m venv .omicron/python-mcp-1': [],
        [`.omicron/python-mcp-1/bin/pip install --quiet ${PYTHON.python_mcp_1.pip.join(' ')}`]: ['python_mcp_1'],
        'python3 -m venv .omicron/python-mcp-2': [],
        [`.omicron/python-mcp-2/bin/pip install --quiet ${PYTHON.python_mcp_2.pip.join(' ')}`]: ['python_mcp_2'],
      },
    });
    installTestTools(m);
    expect(commands).toHaveLength(4);
  });

  it('takes a Python environment for missing whose packages have other versions', async () => {
    const asked: string[] = [];
    const missing = missingTestTools('/clone', '', (program, ...args) => {
      asked.push([program, ...args].join(' '));
      return program.includes('python-mcp-1');
    });
    expect(missing).toContain('python_mcp_2');
    expect(missing).not.toContain('python_mcp_1');
    expect(asked.join('\n')).toContain('mcp==1.30.0');
  });

  it('names what is missing and the ways to get it when it may not install', () => {
    const { machine: m, commands } = testMachine({ missing: ['promtool', 'moto_server'], brings: { [venv]: [] } });
    expect(() => installTestTools(m)).toThrow(
      /promtool, moto_server[\s\S]*apt-get install prometheus python3-venv[\s\S]*pip install 'moto\[server\]==[\s\S]*npm run test:unit/,
    );
    expect(commands).toEqual([venv, pip]);
  });
});

describe('setup.js', () => {
  const NODE = { 'node_modules/node': { version: '24.21.0' } };
  const workspace = (...dependencies: string[]) => ({
    version: '0.1.0',
    dependencies: Object.fromEntries(dependencies.map(name => [name, '1.0.0'])),
  });
  const STACK = { ...NODE, cli: workspace('zod'), local: workspace(), 'node_modules/zod': { version: '1.0.0' } };
  const WHOLE = { ...STACK, test: workspace('vitest'), 'node_modules/vitest': { version: '1.0.0' } };
  const MAC = { 'node_modules/mac': { version: '1.0.0', optional: true } };

  /** A clone with the setup, a lock file, and an npm that "installs" all of it or what the workspaces `cli` and `local` need. */
  async function clone() {
    const folder = await newFolder();
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    await mkdir(join(folder, 'local'));
    await cp(join(ROOT, 'local', 'setup.js'), join(folder, 'local', 'setup.js'));
    await writeFile(join(folder, 'package.json'), '{"type": "module"}');
    await writeFile(
      join(folder, 'local', 'setup-tools.ts'),
      "process.stdout.write(JSON.stringify({ FOUND: '/f', TOOLS: process.argv.slice(2).join() }))",
    );
    await writeFile(
      join(folder, 'entry.ts'),
      `const { FOUND, TOOLS }: NodeJS.ProcessEnv = process.env;
       console.log(FOUND, TOOLS, process.argv.slice(2).join(), process.versions.node); process.exit(7);`,
    );
    await writeFile(
      join(folder, 'npm.js'),
      `import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
       const args = process.argv.slice(2);
       appendFileSync('npm-calls', args.join(' ') + '\\n');
       if (args[0] === 'ci') rmSync('node_modules', { recursive: true, force: true });
       const { packages } = JSON.parse(readFileSync('package-lock.json'));
       const subset = args.some(arg => arg.startsWith('--workspace='));
       const left = Object.entries(packages).filter(([path, { optional }]) => path !== '' && !optional && !(subset && /test$/.test(path)));
       for (const [path] of left) mkdirSync(path, { recursive: true });
       mkdirSync('node_modules/node/bin', { recursive: true });
       if (!existsSync('node_modules/node/bin/node')) symlinkSync(${JSON.stringify(process.execPath)}, 'node_modules/node/bin/node');
       writeFileSync('node_modules/.package-lock.json', JSON.stringify({ packages: Object.fromEntries(left) }));`,
    );
    const lock = (packages: object) =>
      writeFile(join(folder, 'package-lock.json'), JSON.stringify({ packages: { '': {}, ...packages } }));
    await lock({ ...WHOLE, ...MAC });
    return {
      folder,
      lock,
      setup: (...args: string[]) =>
        run(process.execPath, [join(folder, 'local', 'setup.js'), ...args], {
          cwd: folder,
          env: { npm_execpath: join(folder, 'npm.js') },
        }),
      npmCalls: async () =>
        (await readFile(join(folder, 'npm-calls'), 'utf8').catch(() => '')).split('\n').slice(0, -1),
    };
  }
  const ALL = 'ci --loglevel=error';
  const SUBSET = 'ci --workspace=cli --workspace=local --loglevel=error';
  const ADD = 'install --no-save --loglevel=error';

  it('installs the packages once, hands over to Node 24 with the tools’ environment, and passes the exit code on', async () => {
    const { setup, npmCalls } = await clone();
    for (const round of ['first', 'second']) {
      const { code, stdout } = await setup('entry.ts', round, 'https://example.com');
      expect(stdout).toBe(`/f browser ${round},https://example.com ${process.versions.node}\n`);
      expect(code).toBe(7);
    }
    expect(await npmCalls()).toEqual([ALL]);
  });

  it('installs for the stack what the stack needs, once', async () => {
    const { setup, npmCalls } = await clone();
    for (const round of ['first', 'second'])
      expect((await setup('--for', 'stack', 'entry.ts', round)).stdout).toContain(`/f browser ${round} `);
    expect(await npmCalls()).toEqual([SUBSET]);
  });

  it('adds the rest to it for other work, and never goes back', async () => {
    const { lock, setup, npmCalls } = await clone();
    await setup('--for', 'stack');
    await setup('--for', 'tests');
    await setup('--for', 'stack');
    expect(await npmCalls()).toEqual([SUBSET, ADD]);
    await lock({ ...WHOLE, 'node_modules/zod': { version: '1.1.0' } });
    await setup('--for', 'stack');
    expect(await npmCalls()).toEqual([SUBSET, ADD, ALL]);
  });

  it('adds a package that a workspace of the stack has come to need', async () => {
    const { lock, setup, npmCalls } = await clone();
    await setup('--for', 'stack');
    await lock({ ...WHOLE, local: workspace('pino'), 'node_modules/pino': { version: '1.0.0' } });
    await setup('--for', 'stack');
    expect(await npmCalls()).toEqual([SUBSET, 'install --no-save --workspace=cli --workspace=local --loglevel=error']);
  });

  it.each([
    ['the folder of node_modules is gone', 'node_modules'],
    ['a package is gone', 'node_modules/vitest'],
  ])('installs again when %s', async (_, path) => {
    const { folder, setup, npmCalls } = await clone();
    await setup('entry.ts');
    await rm(join(folder, path), { recursive: true });
    await setup('entry.ts');
    expect(await npmCalls()).toEqual([ALL, ALL]);
  });

  it('installs again when package-lock.json asks for another version', async () => {
    const { lock, setup, npmCalls } = await clone();
    await setup('entry.ts');
    await lock({ ...WHOLE, 'node_modules/vitest': { version: '1.1.0' } });
    await setup('entry.ts');
    expect(await npmCalls()).toEqual([ALL, ALL]);
  });

  it('finds the tools that the work needs', async () => {
    const { setup } = await clone();
    expect((await setup('--for', 'tests', 'entry.ts')).stdout).toContain('/f browser,tests ');
    expect((await setup('--for', 'check', 'entry.ts')).stdout).toContain('undefined undefined ');
    const { code, stderr } = await setup('--for', 'nothing');
    expect(code).toBe(1);
    expect(stderr).toContain('--for takes one of stack, check, tests, all.');
  });

  it('stops with what npm said when the packages cannot be installed', async () => {
    const { folder, setup } = await clone();
    await writeFile(join(folder, 'npm.js'), "console.error('npm error: no network'); process.exit(1);");
    const { code, stdout, stderr } = await setup('entry.ts');
    expect(code).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toContain('no network');
  });
});
