import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chartFiles } from './chart/files.ts';
import { checkSettings } from './check-settings.ts';
import { ENVIRONMENTS } from './environments.ts';
import { pushFirst } from './image-digests.ts';
import { dashboardFile } from './monitoring/dashboard.ts';
import { DASHBOARDS } from './monitoring/dashboards/all.ts';
import { readOptions } from './read-options.ts';
import { render } from './render.ts';

const USAGE = `npm run manifests                       rewrites manifests/rendered/<env>/, which alone Argo CD reads, and rendered/dashboards/: commit what changed
npm run manifests -- --chart FOLDER     writes the Helm chart into the folder, which must be empty or not there
`;
const { chart } = readOptions({ chart: { type: 'string' } }, USAGE);

const folder = fileURLToPath(new URL('./rendered', import.meta.url));
const write = (to: string, files: Iterable<readonly [path: string, text: string]>) => {
  for (const [path, text] of files) {
    const file = join(to, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
};

if (chart !== undefined) {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  write(emptyFolder(chart), chartFiles(version));
} else writeEnvironments();

function writeEnvironments(): void {
  // Everything is rendered before a file is touched: Argo CD would prune what an error left deleted.
  const rendered = Object.values(ENVIRONMENTS).map(env => {
    checkSettings(env);
    return { env, files: [...render(env)] };
  });
  for (const { env, files } of rendered) {
    if (Object.values(env.images).includes(''))
      process.stderr.write(`${env.name} cannot be deployed: its images are ${pushFirst(env.name)}.\n`);
    rmSync(join(folder, env.name), { recursive: true, force: true });
    write(join(folder, env.name), files);
  }
  rmSync(join(folder, 'dashboards'), { recursive: true, force: true });
  write(
    join(folder, 'dashboards'),
    DASHBOARDS.map(dashboard => [`${dashboard.uid}.json`, dashboardFile(dashboard)] as const),
  );
}

/** A file of an earlier version would stay in the chart. */
function emptyFolder(path: string): string {
  const whole = resolve(process.env.INIT_CWD ?? '.', path); // npm starts commands in the repository's folder
  mkdirSync(whole, { recursive: true });
  if (readdirSync(whole).length === 0) return whole;
  process.stderr.write(`${whole} is not empty: name another folder\n`);
  process.exit(2);
}
