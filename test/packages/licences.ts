import { readFile } from 'node:fs/promises';

/**
 * SPDX ids of licences under which a package may ship with this one, which is Apache-2.0: https://spdx.org/licenses/, and Apache's own list of
 * those, https://www.apache.org/legal/resolved.html#category-a
 */
const ALLOWED = new Set([
  ...['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'BlueOak-1.0.0', 'ISC', 'MIT', 'PSF-2.0', 'Unlicense'],
]);

/** Workspaces that ship: in the SDK, in the command, in the images. The images also hold Node.js itself. */
const SHIPPED = [
  'contract',
  'http',
  'process',
  'time',
  'client',
  'cli',
  'local',
  'console',
  'controller',
  'runner',
  'egress',
  'node_modules/node',
];

/** An entry of package-lock.json. */
interface Locked {
  readonly version?: string;
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}
export type Lock = Readonly<Record<string, Locked>>;

export interface Licences {
  /** Packages by licence, e.g. `MIT` -> `zod@4.6.7`. */
  readonly packages: ReadonlyMap<string, readonly string[]>;
  /** Packages whose licence is not allowed, or not stated. */
  readonly refused: readonly string[];
}

/** Licences of everything that the workspaces need, as package-lock.json states them. */
export function licencesOf(lock: Lock, workspaces: readonly string[] = SHIPPED): Licences {
  const packages = new Map<string, string[]>();
  const refused: string[] = [];
  for (const path of closure(lock, workspaces)) {
    const { version, license = 'not stated' } = lock[path] ?? {};
    if (!path.includes('node_modules/')) continue;
    const name = `${path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)}@${version}`;
    packages.set(license, [...(packages.get(license) ?? []), name]);
    if (!isAllowed(license)) refused.push(`${name}: ${license}`);
  }
  return { packages, refused };
}

/** `(A OR B)`: one is enough. `A AND B`: both. */
const isAllowed = (expression: string): boolean =>
  expression
    .replace(/[()]/g, '')
    .split(' OR ')
    .some(choice => choice.split(' AND ').every(id => ALLOWED.has(id)));

/** Paths of the lock that the entries need, found as Node.js finds packages: in the nearest node_modules. */
function closure(lock: Lock, from: readonly string[]): Set<string> {
  const paths = new Set(from);
  for (const path of paths) {
    const { dependencies, optionalDependencies } = lock[path] ?? {};
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      let folder = path;
      while (folder !== '' && !lock[`${folder}/node_modules/${name}`])
        folder = folder.replace(/\/?(node_modules\/)?[^/]*$/, '');
      paths.add(folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`);
    }
  }
  return paths;
}

if (import.meta.main) {
  const { packages, refused } = licencesOf(JSON.parse(await readFile('package-lock.json', 'utf8')).packages);
  for (const [licence, names] of packages) console.log(`${licence.padEnd(30)} ${names.length}`);
  for (const line of refused) console.error(`not allowed: ${line}`);
  if (refused.length > 0) process.exitCode = 1;
}
