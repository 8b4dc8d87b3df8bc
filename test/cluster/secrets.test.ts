import { spawn } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clusterEnvironment, kubectl } from '../../cluster/kubectl.ts';
import { ENV, NAMESPACES } from '../../contract/names.ts';
import { controllerKeys, signingKey } from '../../contract/tokens.ts';
import { parseControllerSettings } from '../../controller/settings.ts';
import { PUBLIC_KEYS, SECRETS } from '../../manifests/secrets.ts';

const DATABASE = 'postgres://omicron:hunter2-of-the-test@postgres.test/omicron';
const script = fileURLToPath(new URL('../../manifests/make-secrets.ts', import.meta.url));

/**
 * The deployment has its Secrets, and its keys must stay: the script's kubectl means namespaces of the test's own
 * instead.
 */
const KUBECTL = `#!/bin/sh
for arg; do
  shift
  [ "$before" = -n ] && set -- "$@" "$arg-made" || set -- "$@" "$arg"
  before=$arg
done
sed 's/"namespace":"\\([^"]*\\)"/"namespace":"\\1-made"/' | PATH="$KUBECTL_PATH" kubectl "$@"
`;
const made = (namespace: string): string => `${namespace}-made`;
const OURS = Object.values(NAMESPACES).map(made);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'omicron-kubectl-'));
  await writeFile(join(folder, 'kubectl'), KUBECTL);
  await chmod(join(folder, 'kubectl'), 0o755);
  await kubectl(['delete', 'namespace', ...OURS, '--ignore-not-found']); // of a run that was cut short
  for (const name of OURS) await kubectl(['create', 'namespace', name]);
});
afterAll(async () => {
  await kubectl(['delete', 'namespace', ...OURS, '--wait=false']);
  await rm(folder, { recursive: true });
});

function makeSecrets(args: readonly string[], input: string): Promise<{ code: number | null; output: string }> {
  const { PATH, ...rest } = clusterEnvironment();
  const env = { ...rest, PATH: `${folder}:${PATH}`, KUBECTL_PATH: PATH };
  const child = spawn(process.execPath, [script, ...args], { env });
  const said: string[] = [];
  for (const each of [child.stdout, child.stderr]) each.on('data', chunk => said.push(String(chunk)));
  child.stdin.end(input);
  return new Promise(resolve => child.on('close', code => resolve({ code, output: said.join('') })));
}

async function read({ namespace, name }: { namespace: string; name: string }): Promise<Record<string, string>> {
  const text = await kubectl(['-n', made(namespace), 'get', 'secret', name, '-o', 'jsonpath={.data}']);
  const data = JSON.parse(text) as Record<string, string>;
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]));
}

test('the script says what to do where nothing is there and nothing is given', async () => {
  const { code, output } = await makeSecrets(['--public-keys'], '');
  expect(code).toBe(2);
  expect(output).toContain('--database-url-file');
});

test('the script makes Secrets with which the controller starts, prints no value, and changes nothing the second time', async () => {
  const first = await makeSecrets(['--database-url-file', '-'], DATABASE);
  expect(first).toMatchObject({ code: 0 });
  const controller = await read(SECRETS.controller);
  expect(controller[ENV.databaseUrl]).toBe(DATABASE);
  expect(parseControllerSettings(controller).serviceSecret).toBe(controller[ENV.serviceSecret]);
  for (const value of Object.values(controller)) expect(first.output).not.toContain(value);

  const second = await makeSecrets(['--database-url-file', '-'], 'postgres://other@other.test/other');
  expect(second).toMatchObject({ code: 0 });
  expect(await read(SECRETS.controller)).toEqual(controller);
  expect(await read(SECRETS.egress)).toEqual({ [ENV.egressSecret]: controller[ENV.egressSecret] });
  expect(await read(SECRETS.api)).toEqual({ [ENV.serviceSecret]: controller[ENV.serviceSecret] });
});

test('runners get the public keys that fit the signing key, and nothing of the private one', async () => {
  const controller = await read(SECRETS.controller);
  const { publicJwk } = signingKey(controller[ENV.signingKey] ?? '');
  const jwks = JSON.parse(
    await kubectl(['-n', made(PUBLIC_KEYS.namespace), 'get', 'configmap', PUBLIC_KEYS.name, '-o', 'jsonpath={.data}']),
  ) as Record<string, string>;
  expect(JSON.parse(jwks[PUBLIC_KEYS.keys[0]] ?? '')).toEqual({ keys: [publicJwk] });
  expect([...controllerKeys(jwks[PUBLIC_KEYS.keys[0]] ?? '').keys()]).toEqual([publicJwk.kid]);
  expect(publicJwk).not.toHaveProperty('d');
});

test('a Secret of the controller that lacks what another program shares is named, and none is made with an empty value', async () => {
  const { namespace, name } = SECRETS.controller;
  const before = await read(SECRETS.egress);
  const without = JSON.stringify([{ op: 'remove', path: `/data/${ENV.egressSecret}` }]);
  await kubectl(['-n', made(namespace), 'patch', 'secret', name, '--type=json', '-p', without]);
  const { code, output } = await makeSecrets(['--database-url-file', '-'], DATABASE);
  expect(code).not.toBe(0);
  expect(output).toContain(`Secret ${namespace}/${name} has no ${ENV.egressSecret}. Add it, and run this again.`);
  expect(await read(SECRETS.egress)).toEqual(before);
});
