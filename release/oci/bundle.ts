import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { chartFiles } from '../../manifests/chart/files.ts';
import type { Environment } from '../../manifests/environment-type.ts';
import { ENVIRONMENTS } from '../../manifests/environments.ts';
import { render } from '../../manifests/render.ts';
import { NPM_PACKAGES, packArguments } from '../catalogue.ts';
import type { Layout } from './layout.ts';
import { tarball } from './tarball.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const TITLE = 'org.opencontainers.image.title';

/** Packages of a release, packed by npm: name of the file and its bytes. */
export async function packPackages(): Promise<ReadonlyMap<string, Buffer>> {
  const folder = await mkdtemp(join(tmpdir(), 'omicron-pack-'));
  try {
    for (const workspace of NPM_PACKAGES)
      await promisify(execFile)('npm', packArguments(workspace, folder), { cwd: ROOT });
    const names = (await readdir(folder)).sort();
    return new Map(await Promise.all(names.map(async name => [name, await readFile(join(folder, name))] as const)));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Adds chart, manifests and packages to the layout, each under its name and version: the same bytes each time. */
export async function bundleRelease(
  layout: Layout,
  {
    version,
    packages,
    environments = Object.values(ENVIRONMENTS),
  }: {
    version: string;
    packages: ReadonlyMap<string, Buffer>;
    environments?: readonly Environment[];
  },
): Promise<void> {
  const chart = chartFiles(version);
  await layout.add({
    name: `omicron-browser:${version}`,
    // as "helm push" writes it: https://helm.sh/docs/topics/registries/
    config: {
      mediaType: 'application/vnd.cncf.helm.config.v1+json',
      bytes: Buffer.from(JSON.stringify(parse(chart.get('Chart.yaml') ?? ''))),
    },
    layers: [
      {
        mediaType: 'application/vnd.cncf.helm.chart.content.v1.tar+gzip',
        bytes: tarball(new Map([...chart].map(([path, text]) => [`omicron-browser/${path}`, text]))),
      },
    ],
  });
  const manifests = environments.flatMap(env =>
    [...render(env)].map(([path, text]) => [`${env.name}/${path}`, text] as const),
  );
  await layout.add({
    name: `manifests:${version}`,
    artifactType: 'application/vnd.omicron-browser.manifests.v1',
    // the one layer that Argo CD unpacks: https://argo-cd.readthedocs.io/en/latest/user-guide/oci/
    layers: [{ mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip', bytes: tarball(new Map(manifests)) }],
  });
  await layout.add({
    name: `packages:${version}`,
    artifactType: 'application/vnd.omicron-browser.packages.v1',
    layers: [...packages].map(([file, bytes]) => ({
      mediaType: 'application/gzip',
      bytes,
      annotations: { [TITLE]: file },
    })),
  });
}

/** Components of the packages that are published, as CycloneDX. */
export async function packagesSbom(): Promise<unknown> {
  const workspaces = NPM_PACKAGES.flatMap(name => ['--workspace', name]);
  const { stdout } = await promisify(execFile)(
    'npm',
    ['sbom', '--sbom-format=cyclonedx', '--omit=dev', '--package-lock-only', ...workspaces],
    { cwd: ROOT, maxBuffer: 64 * 1024 * 1024 },
  );
  return JSON.parse(stdout);
}
