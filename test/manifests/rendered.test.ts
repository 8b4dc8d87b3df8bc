import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { STACK_OUTPUTS } from '../../contract/names.ts';
import { rootApplication } from '../../infra/root-application.ts';
import { ENVIRONMENTS } from '../../manifests/environments.ts';
import { parseOutputs } from '../../manifests/outputs.ts';
import { render, renderObjects } from '../../manifests/render.ts';
import { SECRETS } from '../../manifests/secrets.ts';
import { stackConfig } from '../infra/capture.ts';

const folder = fileURLToPath(new URL('../../manifests/rendered', import.meta.url));
const committed = (env: string): ReadonlyMap<string, string> =>
  new Map(
    readdirSync(join(folder, env), { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => join(entry.parentPath, entry.name))
      .map(file => [file.slice(join(folder, env).length + 1), readFileSync(file, 'utf8')]),
  );

describe.each(Object.values(ENVIRONMENTS))('$name', env => {
  test('committed manifests match the code: run `npm run manifests` and commit', () => {
    const now = render(env);
    expect([...committed(env.name).keys()].sort()).toEqual([...now.keys()].sort());
    for (const [path, text] of now) expect(committed(env.name).get(path), path).toBe(text);
  });

  test('two runs render the same bytes in the same order', () => {
    expect([...render(env)]).toEqual([...render(env)]);
  });

  test('nothing rendered holds a secret: Secrets are named, their keys read, no value stands anywhere', () => {
    const text = [...render(env).values()].join('\n');
    expect(text).not.toMatch(
      /-----BEGIN (?!CERTIFICATE)|eyJ[\w-]{10,}\.|postgres(ql)?:\/\/|AKIA[0-9A-Z]{16}|"d":|service_role/,
    );
    for (const object of renderObjects(env).values()) {
      expect(object.kind).not.toBe('Secret');
      if (object.kind !== 'ConfigMap') continue;
      const keys = Object.keys(Object(object.data));
      expect(keys.filter(key => Object.values(SECRETS).some(secret => new Set<string>(secret.keys).has(key)))).toEqual(
        [],
      );
    }
  });

  test('every object says when it is applied, and belongs to the product', () => {
    for (const [path, { kind, metadata }] of renderObjects(env)) {
      expect(metadata.annotations?.['argocd.argoproj.io/sync-wave'], path).toMatch(/^-?\d$/);
      if (kind !== 'AppProject' && kind !== 'Application')
        expect(metadata.labels?.['app.kubernetes.io/part-of'], path).toBe('omicron-browser');
    }
  });

  test('the root folder holds the project and Applications alone, and each of them reads a folder that is there', () => {
    const files = [...committed(env.name).keys()];
    const root = [...renderObjects(env)].filter(([path]) => !path.includes('/')).map(([, object]) => object);
    expect(new Set(root.map(({ kind }) => kind))).toEqual(new Set(['AppProject', 'Application']));
    for (const { kind, spec } of root) {
      if (kind !== 'Application') continue;
      const { path } = (spec as { source: { path: string } }).source;
      const { source } = rootApplication(env.name, env.gitops).spec;
      expect(path.startsWith(`${source.path}/`)).toBe(true);
      expect(files.some(file => `${source.path}/${file}`.startsWith(`${path}/`))).toBe(true);
    }
  });

  test('the project allows every kind that is rendered, in the namespaces that they are in', () => {
    // A console with its Ingress is the one choice that adds a kind.
    const ingress = { className: 'nginx', from: { podSelector: {} } };
    const all = [...renderObjects({ ...env, console: { url: 'https://console.example.com', ingress } }).values()];
    const [project = { spec: {} }] = all.filter(({ kind }) => kind === 'AppProject');
    const { clusterResourceWhitelist, namespaceResourceWhitelist, destinations } = project.spec as {
      clusterResourceWhitelist: { group: string; kind: string }[];
      namespaceResourceWhitelist: { group: string; kind: string }[];
      destinations: { namespace: string }[];
    };
    expect(all.map(({ kind }) => kind)).toContain('Ingress');
    for (const { apiVersion, kind, metadata } of all) {
      if (kind === 'AppProject' || kind === 'Application') continue;
      const group = apiVersion.includes('/') ? apiVersion.split('/')[0] : '';
      expect(metadata.namespace ? namespaceResourceWhitelist : clusterResourceWhitelist).toContainEqual({
        group,
        kind,
      });
      if (metadata.namespace) expect(destinations.map(({ namespace }) => namespace)).toContain(metadata.namespace);
    }
  });
});

test('Applications that read the artifact of a release find the folder of their environment at its root', () => {
  const gitops = { repository: 'oci://registry.example.com/omicron-browser/manifests', revision: '1.2.3' };
  const objects = renderObjects({ ...ENVIRONMENTS.prod, gitops });
  const specs = [...objects.values()].filter(({ kind }) => kind === 'Application').map(({ spec }) => spec);
  expect([rootApplication('prod', gitops).spec, ...specs]).toMatchObject(
    ['prod', 'prod/monitoring', 'prod/core'].map(path => ({
      source: { repoURL: gitops.repository, targetRevision: '1.2.3', path },
    })),
  );
});

test.each(['dev', 'prod'] as const)('%s follows the repository and network that its stack is made with', name => {
  const config = stackConfig(name);
  expect(ENVIRONMENTS[name].gitops).toEqual(config.gitops);
  expect(ENVIRONMENTS[name].ownCidrs).toContain(config.network.cidr);
});

test('manifests keep the outputs of a stack that they need, and not the kubeconfig', () => {
  const outputs = Object.fromEntries(STACK_OUTPUTS.map(name => [name, `value of ${name}`]));
  const { images: _, ...dev } = ENVIRONMENTS.dev;
  const kept = parseOutputs(
    JSON.stringify({
      ...outputs,
      region: dev.artifacts.region,
      uploaderRoleArn: dev.roles?.uploader,
      profilesKeyArn: dev.profiles?.keyArn,
      controllerRoleArn: dev.roles?.controller,
      controllerRepositoryUrl: 'a.example/c',
      runnerRepositoryUrl: 'a.example/r',
      egressRepositoryUrl: 'a.example/e',
      consoleRepositoryUrl: 'a.example/o',
      vpcCidr: '10.40.0.0/16',
      serviceCidr: '172.20.0.0/16',
      natAddresses: ['203.0.113.1'],
    }),
  );
  expect(JSON.stringify(kept)).not.toContain('kubeconfig');
  expect(() => parseOutputs('{}')).toThrow(/region/);
});
