import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ENVIRONMENTS } from './environments.ts';
import { pushFirst } from './image-digests.ts';
import { render } from './render.ts';

// npm run manifests: rewrites manifests/rendered/<env>/. Commit what changed; Argo CD reads nothing else.
const rendered = fileURLToPath(new URL('./rendered', import.meta.url));
for (const env of Object.values(ENVIRONMENTS)) {
  if (Object.values(env.images).includes(''))
    process.stderr.write(`${env.name} cannot be deployed: its images are ${pushFirst(env.name)}.\n`);
  rmSync(join(rendered, env.name), { recursive: true, force: true });
  for (const [path, text] of render(env)) {
    const file = join(rendered, env.name, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}
