import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import ts from 'typescript';

/** Rooms that may be imported by a room; those of .dependency-cruiser.js. */
export type ImportRules = Readonly<Record<string, readonly string[]>>;

/** Rooms whose programs a room starts, beside what it imports. */
const STARTS: Readonly<Record<string, readonly string[]>> = {
  controller: ['runner'],
  local: ['controller', 'runner', 'egress', 'console'],
  cluster: ['controller', 'runner', 'egress', 'console'],
  images: ['controller', 'runner', 'egress', 'console', 'cli'],
  cli: ['egress'],
};

/** Files and folders that no program of a test reads but the tests of documents, which always run. */
const PROSE = /^(docs\/|[A-Z]+(\.md)?$|LICENSE$)/;

/** All rooms that a change in one of them could be felt from `room`. */
export function reachOf(room: string, rules: ImportRules): Set<string> {
  const reached = new Set<string>();
  const visit = (each: string): void => {
    if (reached.has(each)) return;
    reached.add(each);
    for (const next of [...(rules[each] ?? []), ...(STARTS[each] ?? [])]) visit(next.split('/')[0] ?? next);
  };
  visit(room);
  return reached;
}

/**
 * Whether a change of these files can reach a test, by the files that the test imports, the rooms that those name, and the rooms that
 * may be imported or started from there. A file outside of all rooms (a lock file, a configuration) reaches every test.
 */
export function isReached(test: TestReach, changed: readonly string[]): boolean {
  return changed
    .filter(file => !PROSE.test(file))
    .some(file => {
      const [top = '', second] = file.split('/');
      if (top === 'test') return test.files.has(file) || second === undefined || !file.endsWith('.ts');
      if (top === 'clients' || top === 'examples') return test.rooms.has(top);
      return !(top in test.rules) || test.rooms.has(top);
    });
}

export interface TestReach {
  /** Files of test/ that it imports, itself among them. */
  files: ReadonlySet<string>;
  /** Rooms that it reaches, `clients` and `examples` among them. */
  rooms: ReadonlySet<string>;
  rules: ImportRules;
}

export function testReach(
  file: string,
  rules: ImportRules,
  read = (path: string) => readFileSync(path, 'utf8'),
): TestReach {
  const files = new Set<string>();
  const rooms = new Set<string>();
  const named = new RegExp(`(?<![\\w-])(${[...Object.keys(rules), 'clients', 'examples'].join('|')})/`, 'g');
  const visit = (path: string): void => {
    if (files.has(path)) return;
    files.add(path);
    const text = read(path);
    for (const [, room = ''] of text.matchAll(named)) for (const each of reachOf(room, rules)) rooms.add(each);
    for (const { fileName } of ts.preProcessFile(text).importedFiles) {
      const target = normalize(join(dirname(path), fileName));
      if (fileName.startsWith('.') && target.startsWith('test/') && target.endsWith('.ts')) visit(target);
    }
  };
  visit(file);
  return { files, rooms, rules };
}

/** Test files below a folder. */
export const testFiles = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith('.test.ts'))
    .map(path => join(folder, path));
