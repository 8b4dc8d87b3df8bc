import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Builder } from './builder.ts';

interface Component {
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
}

/** The part of a CycloneDX document that is read or written here: https://cyclonedx.org/docs/1.5/json/ */
export interface Sbom {
  readonly bomFormat: 'CycloneDX';
  readonly components: readonly Component[];
}

// biome-ignore lint/suspicious/noTemplateCurlyInString: dpkg's own placeholders
const FORMAT = '-f=${Package}\t${Version}\t${Architecture}\t${db:Status-Status}\n';

/** Contents of an image: the npm packages as npm lists them, and the packages of its distribution. */
export async function sbomOf(builder: Builder, image: string, context: string): Promise<Sbom> {
  const npm = await promisify(execFile)(
    'npm',
    ['sbom', '--sbom-format=cyclonedx', '--omit=dev', '--package-lock-only'],
    {
      cwd: context,
      maxBuffer: 64 * 1024 * 1024,
    },
  );
  const document: Sbom = JSON.parse(npm.stdout);
  const [release, installed] = await Promise.all([
    builder.output(image, ['cat', '/etc/os-release']),
    builder.output(image, ['dpkg-query', '-W', FORMAT]),
  ]);
  const distribution = /^ID="?([^"\n]+)/m.exec(release)?.[1] ?? 'linux';
  const debs = installed
    .split('\n')
    .map(line => line.split('\t'))
    .filter(([, , , status]) => status === 'installed')
    .map(([name = '', version = '', arch = '']) => ({
      type: 'library',
      name,
      version,
      purl: `pkg:deb/${distribution}/${name}@${encodeURIComponent(version)}?arch=${arch}`,
    }));
  return { ...document, components: [...document.components, ...debs] };
}
