import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Resource } from '../../policies/rule.ts';
import { RULES } from '../../policies/rules.ts';
import { capture, stackConfig, stackValues } from '../infra/capture.ts';
import { runProgram } from '../infra/engine.ts';
import { UNKNOWN, unknowing } from '../infra/pulumi-values.ts';
import { type Analyzer, startAnalyzer, urnOf } from './analyzer.ts';

let analyzer: Analyzer;
let dev: readonly Resource[];
beforeAll(async () => {
  [analyzer, dev] = await Promise.all([startAnalyzer(), capture(stackConfig('dev')).then(stack => stack.resources)]);
});
afterAll(() => analyzer.stop());

const named = (type: string, name: string): Resource => {
  const found = dev.find(one => one.type === type && one.name === name);
  if (!found) throw new Error(`the stack has no ${type} ${name}`);
  return found;
};
const changed = (resource: Resource, props: Record<string, unknown>): Resource => ({
  ...resource,
  props: { ...resource.props, ...props },
});
const TEMPLATE = named.bind(null, 'aws:ec2/launchTemplate:LaunchTemplate', 'browser');
const ENCRYPTION = 'aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration';

test('the pack offers every rule of the list, as mandatory', async () => {
  const offered = await analyzer.policies();
  expect(offered.map(({ name }) => name).sort()).toEqual(RULES.map(({ name }) => name).sort());
  expect(offered.every(({ mandatory }) => mandatory)).toBe(true);
});

test('the stack as it is passes, resource by resource and as a whole', async () => {
  const each = await Promise.all(dev.map(resource => analyzer.analyze(resource)));
  expect(each.flat()).toEqual([]);
  expect(await analyzer.analyzeStack(dev)).toEqual([]);
});

test('a node whose pods reach the metadata service is stopped, with what to do and why', async () => {
  const wrong = changed(TEMPLATE(), { metadataOptions: { httpTokens: 'required', httpPutResponseHopLimit: 2 } });
  const found = await analyzer.analyze(wrong);
  expect(found).toMatchObject([{ policy: 'metadata-v2-one-hop', mandatory: true }]);
  expect(found[0]?.message).toContain('httpPutResponseHopLimit to 1');
  expect(found[0]?.message).toContain('https://docs.aws.amazon.com/');
});

test('a bucket that lost its encryption is found in the whole stack, and named', async () => {
  const bucket = named('aws:s3/bucket:Bucket', 'artifacts');
  const rest = dev.filter(one => !(one.type === ENCRYPTION && one.name === 'artifacts'));
  expect(await analyzer.analyzeStack(rest)).toMatchObject([
    { policy: 'bucket-encrypted-with-own-key', mandatory: true, urn: urnOf(bucket) },
  ]);
});

test('a production bucket that Pulumi may delete is stopped: the pack sees `protect`', async () => {
  const bucket = named('aws:s3/bucket:Bucket', 'artifacts');
  const inProd = changed(bucket, { forceDestroy: false, tags: { ...(bucket.props.tags as object), env: 'prod' } });
  expect(await analyzer.analyze({ ...inProd, protect: true })).toEqual([]);
  expect(await analyzer.analyze({ ...inProd, protect: false })).toMatchObject([
    { policy: 'prod-bucket-resists-deletion' },
  ]);
});

test('a value that a preview does not know yet is neither passed nor condemned: the rule says that it could not run', async () => {
  const trust = changed(named('aws:iam/role:Role', 'uploader'), { assumeRolePolicy: UNKNOWN });
  const found = await analyzer.analyze(trust);
  expect(found.map(({ policy }) => policy).sort()).toEqual(['no-wildcard-grant', 'trust-pinned']);
  for (const diagnostic of found) {
    expect(diagnostic.mandatory).toBe(false);
    expect(diagnostic.message).toContain('during preview');
  }
});

test('the component without properties that the engine shows is left to its child', async () => {
  const component = { type: 'eks:index:Cluster', name: 'cluster', props: {}, protect: false };
  expect(await analyzer.analyze(component)).toEqual([]);
  const child = {
    type: 'aws:eks/cluster:Cluster',
    name: 'cluster',
    protect: false,
    props: {
      vpcConfig: { endpointPrivateAccess: true, endpointPublicAccess: true, publicAccessCidrs: ['0.0.0.0/0'] },
      enabledClusterLogTypes: ['api', 'audit', 'authenticator', 'controllerManager', 'scheduler'],
      encryptionConfig: { provider: { keyArn: 'arn:aws:kms:eu-central-1:111122223333:key/secrets' } },
      accessConfig: { authenticationMode: 'API' },
      tags: { project: 'omicron-browser', env: 'dev', 'managed-by': 'pulumi' },
    },
  };
  expect(await analyzer.analyze(child)).toMatchObject([{ policy: 'api-server-not-exposed', mandatory: true }]);
});

test('a first preview, in which most of AWS is unknown, is not stopped and says which rules wait', async () => {
  const program = { main: 'infra/index.ts', stack: 'dev', config: stackValues('dev'), preview: true };
  const resources = unknowing((await runProgram(program)).resources);
  const found = [
    ...(await Promise.all(resources.map(resource => analyzer.analyze(resource)))).flat(),
    ...(await analyzer.analyzeStack(resources)),
  ];
  expect(found.filter(({ mandatory }) => mandatory)).toEqual([]);
  const waiting = new Set(found.map(({ policy }) => policy));

  expect(waiting).toContain('trust-pinned');
  for (const rule of ['metadata-v2-one-hop', 'api-server-not-exposed', 'bucket-not-public', 'tagged']) {
    expect(waiting, `${rule} can be judged in a preview`).not.toContain(rule);
  }
});
