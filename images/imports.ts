import { cruise, type ICruiseResult } from 'dependency-cruiser';

/** How the import rules of the project resolve, too (.dependency-cruiser.js). */
const RESOLVE = { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] };

/** Files that programs load, directly or not; type-only imports do not count. */
export interface Imports {
  /** Source files, e.g. `contract/names.ts`. */
  readonly files: readonly string[];
  /** npm packages, e.g. `fastify`; Node.js's own modules do not count. */
  readonly packages: readonly string[];
}

/** Follows the imports of programs, e.g. `controller/main.ts`, through the repository. */
export async function importsOf(programs: readonly string[]): Promise<Imports> {
  const cruised = await cruise([...programs], {
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: RESOLVE,
  });
  const { modules } = cruised.output as ICruiseResult; // text only where a reporter was named
  const lost = modules.find(({ couldNotResolve }) => couldNotResolve);
  if (lost) throw new Error(`${lost.source} is imported but not installed: run "npm ci"`);
  const packages = new Set<string>();
  const files: string[] = [];
  for (const { source, coreModule } of modules) {
    const name = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source)?.[1];
    if (name !== undefined) packages.add(name);
    else if (!coreModule) files.push(source);
  }
  return { files, packages: [...packages].sort() };
}
