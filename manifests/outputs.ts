import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { StackOutput } from '../contract/names.ts';

const arn = z.string().regex(/^arn:aws:iam::\d{12}:role\/[\w+=,.@/-]+$/);
const repository = z.string().regex(/^[a-z0-9./-]+$/);

const schema = z.object({
  env: z.string(),
  region: z.string(),
  uploaderRoleArn: arn,
  controllerRoleArn: arn,
  artifactsBucket: z.string(),
  profilesKeyArn: z.string().regex(/^arn:aws:kms:[a-z0-9-]+:\d{12}:key\/[\w-]+$/),
  controllerRepositoryUrl: repository,
  runnerRepositoryUrl: repository,
  egressRepositoryUrl: repository,
  consoleRepositoryUrl: repository,
  vpcCidr: z.cidrv4(),
  serviceCidr: z.cidrv4(),
  natAddresses: z.array(z.ipv4()),
} satisfies Partial<Record<StackOutput, z.ZodType>>);

/** Outputs of the Pulumi stack that the manifests need. None is secret, so they are committed. */
export type Outputs = z.infer<typeof schema>;

const fileOf = (env: string): string => fileURLToPath(new URL(`./outputs/${env}.json`, import.meta.url));

/** Reads `manifests/outputs/<env>.json`. */
export function readOutputs(env: string): Outputs {
  const outputs = schema.parse(JSON.parse(readFileSync(fileOf(env), 'utf8')));
  if (outputs.env !== env) throw new Error(`manifests/outputs/${env}.json holds the outputs of stack ${outputs.env}`);
  return outputs;
}

/** Keeps the outputs that the manifests need, not the kubeconfig. */
export const parseOutputs = (json: string): Outputs => schema.parse(JSON.parse(json));

// pulumi stack output --stack dev --json | npx node manifests/outputs.ts
if (import.meta.main) {
  const outputs = parseOutputs(readFileSync(0, 'utf8'));
  writeFileSync(fileOf(outputs.env), `${JSON.stringify(outputs, null, 2)}\n`);
}
