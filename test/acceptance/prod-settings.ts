import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import * as z from 'zod';
import { ENV } from '../../contract/names.ts';

const RENDERED = new URL('../../manifests/rendered/prod/core/', import.meta.url);

/** Times of prod that a test waits for, here a thirtieth. */
const SCALE = 30;
/** The reaper's round, which prod leaves at its default: `controller/settings.ts`. */
const REAP_SECONDS = 30;

/** Names of places and of parts that a test deployment has itself. */
const PLACES: ReadonlySet<string> = new Set([
  ENV.provider,
  ENV.dataDir,
  ENV.controllerPort,
  ENV.secretStore,
  ENV.egressUrl,
  ENV.artifactStore,
  ENV.artifactEndpoints,
  ENV.profileStore,
  ENV.profileKmsKey,
  ENV.awsRegion,
]);

const configMap = z.object({ data: z.record(z.string(), z.string()) });
const container = z.object({ env: z.array(z.object({ name: z.string(), value: z.string().optional() })) });
const podTemplate = z.object({ template: z.object({ spec: z.object({ containers: z.array(container) }) }) });

const read = async (path: string): Promise<unknown> => parse(await readFile(new URL(path, RENDERED), 'utf8'));

/** Settings of prod's controller and of its runners' browsers, as `manifests/rendered/prod` has them. */
export async function prodSettings(): Promise<Record<string, string>> {
  const { data } = configMap.parse(await read('omicron-browser-system/configmap.browser-session-controller.yaml'));
  const { template } = podTemplate.parse(await read('omicron-browser/podtemplate.pw-mcp-runner.yaml'));
  const freeze = template.spec.containers.flatMap(({ env }) => env).find(({ name }) => name === ENV.freezeSeconds);
  if (freeze?.value === undefined) throw new Error(`the rendered runner has no ${ENV.freezeSeconds}`);
  return {
    ...Object.fromEntries(Object.entries(data).filter(([name]) => !PLACES.has(name) && !name.startsWith('AWS_'))),
    [ENV.freezeSeconds]: String(Number(freeze.value) / SCALE),
    [ENV.reapSeconds]: String(REAP_SECONDS / SCALE),
  };
}
