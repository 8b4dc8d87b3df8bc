import { join } from 'node:path';
import { commandPath } from '../runner/browser/browser-path.ts';

/**
 * Programs that only tests use: a connection pooler, the rule tester of Prometheus, and what makes the trust store of browsers, which
 * runners need only with private authorities.
 */
const PROGRAMS = {
  pgbouncer: { debian: 'pgbouncer' },
  promtool: { debian: 'prometheus' },
  certutil: { debian: 'libnss3-tools' },
} as const;
/** Has no call that only prints and succeeds. */
const UNASKED: TestTool = 'certutil';

/**
 * Python packages that only tests use: a server that speaks S3 and STS, MCP clients with what the examples need, and what the Python
 * SDK is built and checked with. Two versions of one package need two environments: LangChain's adapters take mcp 1 alone.
 */
export const PYTHON = {
  moto_server: { venv: join('.omicron', 'moto'), pip: ['moto[server]==5.2.1'] },
  python_mcp_1: {
    venv: join('.omicron', 'python-mcp-1'),
    pip: [
      'mcp==1.30.0',
      'PyJWT==2.15.1',
      'langchain==1.4.7',
      'langchain-mcp-adapters==0.3.2',
      'langchain-openai==1.7.3',
    ],
  },
  python_mcp_2: {
    venv: join('.omicron', 'python-mcp-2'),
    pip: [
      ...['mcp==2.3.0', 'openai-agents==0.24.0', 'fastapi==0.165.0', 'uvicorn==0.54.0'],
      'fastmcp==4.2.3',
      ...['httpx==0.28.1', 'PyJWT==2.15.1'], // what omicron-browser needs
    ],
  },
  python_sdk: {
    venv: join('.omicron', 'python-sdk'),
    pip: [
      ...['httpx==0.28.1', 'PyJWT==2.15.1', 'typing-extensions==4.16.0'],
      ...[
        'datamodel-code-generator==0.89.0',
        'griffe2md==1.5.1',
        'griffelib==2.4.1',
        'hatchling==1.33.0',
        'mypy==2.4.1',
        'pytest==9.2.0',
        'ruff==0.17.6',
        'schemathesis==4.32.5',
      ],
    ],
  },
} as const;

type PythonTool = keyof typeof PYTHON;
export type TestTool = keyof typeof PROGRAMS | PythonTool;

const TEST_TOOLS: Readonly<Record<TestTool, { readonly debian: string }>> = {
  ...PROGRAMS,
  moto_server: { debian: 'python3-venv' },
  python_mcp_1: { debian: 'python3-venv' },
  python_mcp_2: { debian: 'python3-venv' },
  python_sdk: { debian: 'python3-venv' },
};

const isPython = (tool: TestTool): tool is PythonTool => Object.hasOwn(PYTHON, tool);

/** Effects of an installation; a test gives its own. */
export interface TestMachine {
  /** Tools that are not there. */
  missing(): TestTool[];
  /** Runs a command to its end. False: it failed. */
  run(command: string, args: string[]): boolean;
  /** Whether apt-get is here and this user may use it. */
  mayApt: boolean;
  say(line: string): void;
}

/** Finds or installs the tools. Throws an Error that names the ways to get what is missing. */
export function installTestTools({ missing, run, mayApt, say }: TestMachine): void {
  const apt = (names: string[]) =>
    mayApt && run('apt-get', ['update']) && run('apt-get', ['install', '-y', '--no-install-recommends', ...names]);
  const pip = ({ venv, pip: packages }: (typeof PYTHON)[PythonTool]) =>
    run('python3', ['-m', 'venv', venv]) && run(join(venv, 'bin', 'pip'), ['install', '--quiet', ...packages]);

  const wanted = missing();
  if (wanted.length === 0) return;
  say(`Installing what the tests need: ${wanted.join(', ')} ...`);
  const debian = wanted.filter(tool => !isPython(tool)).map(tool => TEST_TOOLS[tool].debian);
  if (debian.length > 0) apt(debian);
  for (const tool of wanted.filter(isPython)) {
    // Debian's Python comes without the module that makes environments
    if (!pip(PYTHON[tool]) && apt([TEST_TOOLS[tool].debian])) pip(PYTHON[tool]);
  }

  const left = missing();
  if (left.length > 0) throw new Error(describeWays(left));
}

const describeWays = (missing: TestTool[]) =>
  `The tests need ${missing.join(', ')}. Do one of these and try again:
  1. Debian or Ubuntu, as root:  apt-get install ${[...new Set(missing.map(tool => TEST_TOOLS[tool].debian))].join(' ')}
  2. put them on the PATH${missing.includes('moto_server') ? ` (moto_server: pip install '${PYTHON.moto_server.pip}')` : ''}
  3. run only the tests that need none of them:  npm run test:unit`;

/** The PATH on which tests find the tools: Debian keeps pgbouncer in /usr/sbin. */
export const testPath = (root: string, path: string): string =>
  [join(root, PYTHON.moto_server.venv, 'bin'), path, '/usr/sbin'].join(':');

/** The Python of the environment that has these packages. */
export const pythonOf = (root: string, tool: Exclude<PythonTool, 'moto_server'>): string =>
  join(root, PYTHON[tool].venv, 'bin', 'python');

/** Tools that are not there. A version manager leaves commands on the PATH that do not start. */
export const missingTestTools = (
  root: string,
  path: string,
  starts: (program: string, ...args: string[]) => boolean,
): TestTool[] =>
  (Object.keys(TEST_TOOLS) as TestTool[]).filter(tool => {
    if (isPython(tool) && tool !== 'moto_server')
      return !starts(pythonOf(root, tool), '-c', hasPackages(PYTHON[tool].pip));
    const program = commandPath(tool, path);
    // moto_server has no --version
    return program === undefined || (tool !== UNASKED && !starts(program, '--help'));
  });

/** A Python program that fails where a package is missing, or there in another version. */
const hasPackages = (packages: readonly string[]): string =>
  `from importlib.metadata import version; assert all(version(n) == v for n, v in (p.split('==') for p in ${JSON.stringify(packages)}))`;
