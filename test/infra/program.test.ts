import { readFileSync } from 'node:fs';
import { Yaml } from 'cdk8s';
import { beforeAll, describe, expect, test } from 'vitest';
import { STACK_OUTPUTS } from '../../contract/names.ts';
import { findViolations } from '../../policies/rules.ts';
import { capture, stackConfig, stackValues } from './capture.ts';
import { type Run, runProgram } from './engine.ts';
import { UNKNOWN_YET } from './pulumi-values.ts';

interface Project {
  readonly main: string;
  readonly runtime: { readonly options: { readonly typescript: boolean } };
}
const file = new URL('../../Pulumi.yaml', import.meta.url).pathname;
readFileSync(file);
const [project] = Yaml.load(file) as [Project];

const names = (run: { resources: readonly { type: string; name: string }[] }): string[] =>
  run.resources.map(({ type, name }) => `${type} ${name}`).sort();

let up: Run;
let preview: Run;
beforeAll(async () => {
  // The program that Pulumi.yaml names is the one that runs; with its own TypeScript, Pulumi would not start on this compiler.
  expect(project.runtime.options.typescript).toBe(false);
  const program = { main: project.main, stack: 'dev', config: stackValues('dev') };
  [up, preview] = await Promise.all([
    runProgram({ ...program, preview: false }),
    runProgram({ ...program, preview: true }),
  ]);
});

describe('[C3] pulumi up', () => {
  test('runs the program to its end and asks for what the mocks saw', async () => {
    expect(up.errors).toEqual([]);
    expect(up.exitCode).toBe(0);
    expect(names(up)).toEqual(names(await capture(stackConfig('dev'))));
  });

  test('ends with every output that the manifests read, each with its value', () => {
    expect(Object.keys(up.outputs).sort()).toEqual([...STACK_OUTPUTS].sort());
    for (const [name, value] of Object.entries(up.outputs)) expect(value, name).toBeTruthy();
    expect(up.outputs).toMatchObject({
      uploaderRoleArn: 'arn:aws:iam::111122223333:role/omicron-browser-dev-uploader',
      artifactsBucket: 'omicron-browser-dev-artifacts-111122223333-eu-central-1',
      runnerRepositoryUrl: '111122223333.dkr.ecr.eu-central-1.amazonaws.com/omicron-browser-dev/runner',
    });
  });

  test('keeps the kubeconfig secret, and nothing else', () => {
    expect(up.secretOutputs).toEqual(['kubeconfig']);
  });

  test('registers a stack that breaks no rule, as Pulumi encodes it too', () => {
    expect(findViolations(up.resources)).toEqual([]);
  });
});

describe('pulumi preview', () => {
  test('shows every resource that an update makes', () => {
    expect(preview.errors).toEqual([]);
    expect(preview.exitCode).toBe(0);
    expect(names(preview)).toEqual(names(up));
  });

  test('knows the names of the buckets, and says of a role’s ARN that it does not know it', () => {
    expect(preview.outputs.artifactsBucket).toBe(up.outputs.artifactsBucket);
    expect(preview.outputs.uploaderRoleArn).toBe(UNKNOWN_YET);
  });
});

/** Whether `first` is there before `then` is made, and therefore still there when `then` is deleted. */
function waits(then: string, first: string): boolean {
  const one = (key: string) => {
    const found = up.resources.find(
      ({ type, name }) => !type.startsWith('omicron:') && `${type.split(':').at(-1)} ${name}` === key,
    );
    if (!found) throw new Error(`no ${key}`);
    return found;
  };
  const target = one(first).urn;
  const seen = new Set<string>();
  const reach = (urn: string): boolean => {
    if (urn === target) return true;
    if (seen.has(urn)) return false;
    seen.add(urn);
    return (up.resources.find(resource => resource.urn === urn)?.dependencies ?? []).some(reach);
  };
  return one(then).dependencies.some(reach);
}

test.each([
  ['Application root', 'Release argocd', 'what Argo CD synced is deleted by Argo CD'],
  ['Application root', 'AccessPolicyAssociation admin-omicron-admin', 'who lost access first could delete nothing'],
  ['Release argocd', 'NetworkPolicy argocd', 'strict mode would close its pods'],
  ['Release argocd', 'NodeGroup system', 'it needs a node, and on the way down until the end'],
  ['Release cluster-autoscaler', 'NetworkPolicy cluster-autoscaler', 'strict mode would close it'],
  ['Addon coredns', 'NodeGroup system', 'the add-on waits for its pods'],
  ['Addon coredns', 'NetworkPolicy coredns', 'strict mode would close them'],
  ['NodeGroup system', 'Addon vpc-cni', 'a node without the CNI is never ready'],
  ['NodeGroup browser', 'Addon vpc-cni', 'a node without the CNI is never ready'],
  ['NodeGroup browser', 'RolePolicyAttachment node-AmazonEKSWorkerNodePolicy', 'without rights EKS leaves interfaces'],
  ['NodeGroup browser', 'Route private-0', 'a node without a way out joins nothing'],
  ['Addon vpc-cni', 'RolePolicyAttachment vpc-cni-AmazonEKS_CNI_Policy', 'without rights no pod gets an address'],
  ['Cluster cluster', 'LogGroup control-plane', 'EKS would create a log group that is never deleted'],
  ['Cluster cluster', 'RolePolicyAttachment cluster-AmazonEKSClusterPolicy', 'without rights EKS leaves interfaces'],
  ['FlowLog flow-log', 'RolePolicy flow-log', 'the log would begin with a gap'],
  ['BucketLogging artifacts', 'BucketPolicy access-log', 'S3 refuses a log bucket that it may not write'],
])('%s waits for %s: %s', (then, first) => {
  expect(waits(then, first)).toBe(true);
  expect(waits(first, then)).toBe(false);
});

test('a wrong value ends the run before anything is made, with the line that names the key and no stack trace', async () => {
  const config = stackValues('dev');
  const network = JSON.parse(String(config['omicron-browser:network'])) as Record<string, unknown>;
  const run = await runProgram({
    main: project.main,
    stack: 'dev',
    preview: false,
    config: { ...config, 'omicron-browser:network': JSON.stringify({ ...network, natGateways: 'two' }) },
  });
  expect(run.exitCode).not.toBe(0);
  expect(run.resources.map(({ type }) => type)).toEqual(['pulumi:pulumi:Stack']);
  expect(run.errors.join('\n')).toContain('omicron-browser:network.natGateways');
  expect(run.errors.join('\n')).not.toMatch(/\n\s+at /);
});
