import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The folder in which packages with pages are unpacked; nothing of it is committed. */
export const CORPUS = join(import.meta.dirname, '../../.omicron/sight');

/** Packages whose own demos and visual tests are pages, all MIT. */
const PACKAGES = {
  uikit: '3.25.29',
  'foundation-sites': '6.9.0',
  todomvc: '0.1.1',
  'cypress-example-kitchensink': '7.0.0',
  jstree: '3.3.17',
  jquery: '3.7.1',
} as const;
/** MIT. */
const MINIWOB = 'miniwob==1.1.0';

const FOLDERS = [
  'uikit/tests/*.html',
  'foundation-sites/test/visual/*/*.html',
  'todomvc/examples/*/index.html',
  'cypress-example-kitchensink/app/**/*.html',
  'jstree/demo/basic/index.html',
  'jstree/test/visual/desktop/index.html',
];
/** An index of the others, templates, and pages whose scripts their package does not hold. */
const LEFT_OUT = /_template|uikit\/tests\/(?:index|video|image)\.html/;

/** Installs the packages once. */
export function installCorpus(): void {
  mkdirSync(CORPUS, { recursive: true });
  for (const [name, version] of Object.entries(PACKAGES)) {
    if (versionIn(name) === version) continue;
    run('npm', [
      'install',
      '--prefix',
      CORPUS,
      '--no-save',
      '--no-package-lock',
      '--ignore-scripts',
      '--legacy-peer-deps',
      ...specs(),
    ]);
    break;
  }
  if (!existsSync(miniwobFolder()))
    run('python3', ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', join(CORPUS, 'python'), MINIWOB]);
}

const specs = (): string[] => Object.entries(PACKAGES).map(each => each.join('@'));

function versionIn(name: string): string | undefined {
  const file = join(CORPUS, 'node_modules', name, 'package.json');
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version : undefined; // npm's own form
}

function run(command: string, args: string[]): void {
  const { status } = spawnSync(command, args, { stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed; npm run sight needs npm and Python's pip.`);
}

export const miniwobFolder = (): string => join(CORPUS, 'python/miniwob/html');

/** Paths of the pages in the folder of packages. */
export const corpusPages = (): string[] =>
  FOLDERS.flatMap(pattern => globSync(pattern, { cwd: join(CORPUS, 'node_modules') }))
    .filter(path => !LEFT_OUT.test(path))
    .sort();
