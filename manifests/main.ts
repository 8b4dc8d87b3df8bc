import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkSettings } from './check-settings.ts';
import { ENVIRONMENTS } from './environments.ts';
import { pushFirst } from './image-digests.ts';
import { render } from './render.ts';

// npm run manifests: rewrites manifests/rendered/<env>/. Commit what changed; Argo CD reads nothing else.
const folder = fileURLToPath(new URL('./rendered', import.meta.url));
// Everything is rendered before a file is touched: Argo CD would prune what an error left deleted.
const rendered = Object.values(ENVIRONMENTS).map(env => {
  checkSettings(env);
  return { env, files: [...render(env)] };
});
for (const { env, files } of rendered) {
  if (Object.values(env.images).includes(''))
    process.stderr.write(`${env.name} cannot be deployed: its images are ${pushFirst(env.name)}.\n`);
  rmSync(join(folder, env.name), { recursive: true, force: true });
  for (const [path, text] of files) {
    const file = join(folder, env.name, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}
