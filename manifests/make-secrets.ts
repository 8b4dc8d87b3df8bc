import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { ENV } from '../contract/names.ts';
import { readOptions } from './read-options.ts';
import { controllerSecretValues, profileKeyValue, publicKeysOf } from './secret-values.ts';
import { PUBLIC_KEYS, SECRETS } from './secrets.ts';

const USAGE = `Makes the Secrets of a deployment on the cluster that KUBECONFIG names.

  npx node manifests/make-secrets.ts --database-url-file FILE   make what is missing; what is there stays
  npx node manifests/make-secrets.ts --public-keys              only publish the public half of the signing key that is there
  ... --profile-key                                             also the key of profiles, where no KMS key wraps those of users

FILE holds postgres://user:password@host:port/database; "-" reads it from standard input. No value is printed, put on a
command line, or written to a file. The namespaces must exist: apply manifests/rendered/<env>/core/cluster first.
`;

interface Target {
  readonly namespace: string;
  readonly name: string;
}

const kubectl = (args: readonly string[], input?: string): string =>
  execFileSync('kubectl', args, { encoding: 'utf8', stdio: ['pipe', 'pipe', 'inherit'], ...(input ? { input } : {}) });

/** A Secret's values, or undefined where there is none. */
function read({ namespace, name }: Target): Record<string, string> | undefined {
  const text = kubectl(['-n', namespace, 'get', 'secret', name, '--ignore-not-found', '-o', 'json']);
  if (text.trim() === '') return undefined;
  const { data } = z.object({ data: z.record(z.string(), z.base64()) }).parse(JSON.parse(text));
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]));
}

function put(kind: 'Secret' | 'ConfigMap', { namespace, name }: Target, values: Record<string, string>): void {
  const metadata = { name, namespace, labels: { 'app.kubernetes.io/part-of': 'omicron-browser' } };
  const content = kind === 'Secret' ? { type: 'Opaque', stringData: values } : { data: values };
  kubectl(
    ['apply', '--server-side', '--field-manager=make-secrets', '-f', '-'],
    JSON.stringify({ apiVersion: 'v1', kind, metadata, ...content }),
  );
  process.stdout.write(`${kind} ${namespace}/${name}: ${Object.keys(values).join(', ')}\n`);
}

function databaseUrl(file: string): string {
  const text = readFileSync(file === '-' ? 0 : file, 'utf8').trim();
  if (!/^postgres(ql)?:\/\//.test(text)) throw new Error('the file does not hold a postgres:// URL');
  return text;
}

/** Throws for one that is missing: an empty value would be found by the program that starts with it. */
function requireValue(values: Record<string, string>, key: string): string {
  const value = values[key];
  if (value) return value;
  const { namespace, name } = SECRETS.controller;
  throw new Error(`Secret ${namespace}/${name} has no ${key}. Add it, and run this again.`);
}

const pick = (values: Record<string, string>, keys: readonly string[]): Record<string, string> =>
  Object.fromEntries(keys.map(key => [key, requireValue(values, key)]));

function main(): void {
  const options = readOptions(
    {
      'database-url-file': { type: 'string' },
      'public-keys': { type: 'boolean' },
      'profile-key': { type: 'boolean' },
    },
    USAGE,
  );
  const there = read(SECRETS.controller);
  const from = options['database-url-file'];
  if (there === undefined && (from === undefined || options['public-keys'])) {
    process.stderr.write(USAGE);
    process.exit(2);
  }
  let current = there;
  if (current === undefined) {
    current = controllerSecretValues(databaseUrl(from ?? '-')).values;
    put('Secret', SECRETS.controller, current);
  }
  if (options['profile-key'] && current[ENV.profileKey] === undefined) {
    current = { ...current, [ENV.profileKey]: profileKeyValue() };
    put('Secret', SECRETS.controller, current);
  }
  put('ConfigMap', PUBLIC_KEYS, { 'jwks.json': publicKeysOf(requireValue(current, ENV.signingKey)) });
  if (options['public-keys']) return;
  // Both sides of a shared secret have the same value, so these follow the controller's.
  put('Secret', SECRETS.egress, pick(current, SECRETS.egress.keys));
  put('Secret', SECRETS.console, pick(current, SECRETS.console.keys));
  put('Secret', SECRETS.api, pick(current, SECRETS.api.keys));
}

main();
