import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ENVIRONMENTS } from './environments.ts';
import { render } from './render.ts';

// npm run manifests: rewrites manifests/rendered/<env>/. Commit what changed; Argo CD reads nothing else.
const rendered = fileURLToPath(new URL('./rendered', import.meta.url));
for (const env of Object.values(ENVIRONMENTS)) {
  rmSync(join(rendered, env.name), { recursive: true, force: true });
  for (const [path, text] of render(env)) {
    const file = join(rendered, env.name, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}
