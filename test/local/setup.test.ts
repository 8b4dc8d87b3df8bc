import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { installTools, type Machine } from '../../local/install-tools.ts';
import type { MachineTools } from '../../local/machine-tools.ts';
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

describe('setup.js', () => {
  /** A clone with the setup, a lock file of one package, and an npm that "installs" it. */
  async function clone(): Promise<{
    folder: string;
    setup: (...args: string[]) => ReturnType<typeof run>;
    npmCalls: () => Promise<string>;
  }> {
    const folder = await newFolder();
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    await mkdir(join(folder, 'local'));
    await cp(join(ROOT, 'local', 'setup.js'), join(folder, 'local', 'setup.js'));
    await writeFile(join(folder, 'package.json'), '{"type": "module"}');
    await writeFile(join(folder, 'local', 'setup-tools.ts'), 'process.stdout.write(\'{"OMICRON_FFMPEG": "/f"}\')');
    const lock = {
      packages: {
        '': {},
        'node_modules/node': { version: '24.21.0' },
        'node_modules/mac': { version: '1.0.0', optional: true },
      },
    };
    await writeFile(join(folder, 'package-lock.json'), JSON.stringify(lock));
    await writeFile(
      join(folder, 'entry.ts'),
      'const say: string = process.env.OMICRON_FFMPEG ?? ""; console.log(say, process.argv.slice(2).join(), process.versions.node); process.exit(7);',
    );
    await writeFile(
      join(folder, 'npm.js'),
      `import { appendFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
       appendFileSync('npm-calls', process.argv.slice(2).join(' ') + '\\n');
       mkdirSync('node_modules/node/bin', { recursive: true });
       symlinkSync(${JSON.stringify(process.execPath)}, 'node_modules/node/bin/node');
       writeFileSync('node_modules/.package-lock.json', JSON.stringify({ packages: { 'node_modules/node': { version: '24.21.0' } } }));`,
    );
    return {
      folder,
      setup: (...args) =>
        run(process.execPath, [join(folder, 'local', 'setup.js'), ...args], {
          cwd: folder,
          env: { npm_execpath: join(folder, 'npm.js') },
        }),
      npmCalls: () => readFile(join(folder, 'npm-calls'), 'utf8').catch(() => ''),
    };
  }

  it('installs the packages once, hands over to Node 24 with the tools’ environment, and passes the exit code on', async () => {
    const { setup, npmCalls } = await clone();
    for (const round of ['first', 'second']) {
      const { code, stdout } = await setup('entry.ts', round, 'https://example.com');
      expect(stdout).toBe(`/f ${round},https://example.com ${process.versions.node}\n`);
      expect(code).toBe(7);
    }
    expect(await npmCalls()).toBe('ci\n');
  });

  it('installs again when package-lock.json asks for another version', async () => {
    const { folder, setup, npmCalls } = await clone();
    await setup('entry.ts');
    await rm(join(folder, 'node_modules'), { recursive: true });
    await setup('entry.ts');
    expect(await npmCalls()).toBe('ci\nci\n');
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
