import { App, Chart, Yaml } from 'cdk8s';
import type { Environment } from './environment-type.ts';
import { pushFirst } from './image-digests.ts';
import { accounts } from './parts/accounts.ts';
import { admission } from './parts/admission.ts';
import { applications } from './parts/applications.ts';
import { webConsole } from './parts/console.ts';
import { controller } from './parts/controller.ts';
import { egress } from './parts/egress.ts';
import { limits } from './parts/limits.ts';
import { monitoring } from './parts/monitoring.ts';
import { namespaces } from './parts/namespaces.ts';
import { networkPolicies } from './parts/network.ts';
import { runnerTemplate } from './parts/runner-template.ts';
import { runnersService } from './parts/runners-service.ts';
import { signedImages } from './parts/signed-images.ts';
import { spareRunners } from './parts/spare.ts';

/** The part of a Kubernetes object that names its file. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

/** Folders of an environment: the root Application reads `''`, and what it finds there points at the two others. */
export const FOLDERS = { root: '', core: 'core', monitoring: 'monitoring' } as const;

/** Everything of an environment: file, relative to its folder, to object. */
export function renderObjects(env: Environment): ReadonlyMap<string, KubernetesObject> {
  const app = new App();
  // Each object names its namespace: a chart's default would also be set on cluster-scoped objects.
  const chart = (id: keyof typeof FOLDERS) => new Chart(app, id, { disableResourceNameHashes: true });
  const charts = { root: chart('root'), core: chart('core'), monitoring: chart('monitoring') };

  applications(charts.root, env);
  for (const part of [
    namespaces,
    accounts,
    limits,
    networkPolicies,
    admission,
    signedImages,
    runnersService,
    runnerTemplate,
    controller,
    egress,
    webConsole,
    spareRunners,
  ])
    part(charts.core, env);
  monitoring(charts.monitoring, env);

  const found = new Map<string, KubernetesObject>();
  for (const [folder, each] of Object.entries(charts)) {
    for (const object of each.toJson() as KubernetesObject[]) {
      const path = fileOf(FOLDERS[folder as keyof typeof charts], object); // keys of the literal above
      if (found.has(path)) throw new Error(`two objects for ${path}`);
      found.set(path, withoutImage(object) ? labelImage(object, env.name) : object);
    }
  }
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

const withoutImage = (object: KubernetesObject): boolean => JSON.stringify(object).includes('"image":""');

/**
 * The API server refuses an empty image as a missing value, and a label that is a sentence with that sentence: what Argo CD and
 * kubectl then show says what to do.
 */
const labelImage = (object: KubernetesObject, environment: string): KubernetesObject => ({
  ...object,
  metadata: { ...object.metadata, labels: { ...object.metadata.labels, 'omicron.dev/image': pushFirst(environment) } },
});

/** Everything of an environment: file to text. */
export const render = (env: Environment): ReadonlyMap<string, string> =>
  new Map([...renderObjects(env)].map(([path, object]) => [path, Yaml.stringify(object)]));

function fileOf(folder: string, { kind, metadata }: KubernetesObject): string {
  const name = `${kind.toLowerCase()}.${metadata.name}.yaml`;
  return [folder, folder ? (metadata.namespace ?? 'cluster') : '', name].filter(part => part !== '').join('/');
}
