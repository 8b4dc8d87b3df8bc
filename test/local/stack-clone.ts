import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import { ROOT } from './machine.ts';

const names = z.record(z.string(), z.unknown()).default({});
const lock = z.object({
  packages: z.record(
    z.string(),
    z.object({
      link: z.boolean().optional(),
      resolved: z.string().optional(),
      optional: z.boolean().optional(),
      dependencies: names,
      devDependencies: names,
      optionalDependencies: names,
      peerDependencies: names,
    }),
  ),
});
type Packages = z.output<typeof lock>['packages'];

/** Workspaces whose packages `local/setup.js --for stack` installs. */
const STACK_WORKSPACES = ['cli', 'local'];
const MODULES = 'node_modules/';

/** The place to which npm has put the package that `from` names: beside it, or further up. */
function placeOf(packages: Packages, from: string, name: string): string | undefined {
  for (let at = from; ; ) {
    const place = `${at === '' ? '' : `${at}/`}${MODULES}${name}`;
    if (packages[place] !== undefined) return place;
    if (at === '') return undefined;
    at = at.slice(0, Math.max(at.lastIndexOf(`/${MODULES}`), 0));
  }
}

/** Places of the packages that a set-up for the stack alone installs, by package-lock.json. */
export function stackPackages(): ReadonlySet<string> {
  const { packages } = lock.parse(JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')));
  const found = new Set<string>();
  const visit = (path: string, isWorkspace: boolean): void => {
    const one = packages[path];
    if (one === undefined || found.has(path)) return;
    found.add(path);
    if (one.link === true) visit(one.resolved ?? '', true);
    const wanted = { ...one.dependencies, ...one.optionalDependencies, ...one.peerDependencies };
    for (const name of Object.keys(isWorkspace ? { ...wanted, ...one.devDependencies } : wanted)) {
      const place = placeOf(packages, path, name);
      if (place !== undefined) visit(place, false);
    }
  };
  for (const workspace of STACK_WORKSPACES) visit(workspace, true);
  return new Set([...found].filter(path => path.startsWith(MODULES) || path.includes(`/${MODULES}`)));
}

/** A clone beside which npm has installed nothing but these packages; their files are linked where the system can. */
export function cloneWith(packages: Iterable<string>, folder: string): void {
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: ROOT });
  const sources = files
    .toString()
    .split('\0')
    .filter(
      file => /\.(?:ts|js|json|sql|html|css)$/.test(file) && !file.startsWith('test/') && existsSync(join(ROOT, file)),
    );
  copy(sources, folder);
  copy(
    [...packages].filter(place => existsSync(join(ROOT, place))),
    folder,
  );
}

/** Files and folders, each to its own place. */
function copy(paths: readonly string[], folder: string): void {
  const how = process.platform === 'linux' ? '-al' : '-R';
  const byParent = Map.groupBy(paths, dirname);
  for (const [parent, inside] of byParent) {
    mkdirSync(join(folder, parent), { recursive: true });
    execFileSync('cp', [how, ...inside.map(path => join(ROOT, path)), join(folder, parent)]);
  }
}
