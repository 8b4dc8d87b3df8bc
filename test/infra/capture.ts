import { readFileSync } from 'node:fs';
import * as pulumi from '@pulumi/pulumi';
import { parse } from 'yaml';
import { parseConfig, type StackConfig } from '../../infra/config.ts';
import { stack } from '../../infra/stack.ts';
import { answer, created } from './aws.ts';

/** One resource that the program asked for. */
export interface Captured {
  readonly type: string;
  readonly name: string;
  readonly props: Record<string, unknown>;
  readonly protect: boolean;
}

export interface CapturedStack {
  readonly resources: readonly Captured[];
  readonly outputs: Readonly<Record<string, unknown>>;
}

/** The values of `Pulumi.<env>.yaml` as the CLI hands them to the program: objects as JSON, strings as they are. */
export function stackValues(env: string): Record<string, string> {
  const path = new URL(`../../Pulumi.${env}.yaml`, import.meta.url).pathname;
  // not cdk8s' own Yaml.load, which starts a process for each file
  const { config } = parse(readFileSync(path, 'utf8')) as { config: Record<string, unknown> };
  return Object.fromEntries(
    Object.entries(config).map(([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)]),
  );
}

export const stackConfig = (env: string): StackConfig => parseConfig(env, stackValues(env));

/** Runs the program on mocks and returns every resource it registered, with its inputs resolved. */
export async function capture(config: StackConfig): Promise<CapturedStack> {
  const resources: Omit<Captured, 'protect'>[] = [];
  const protectedOnes = new Set<string>();
  await pulumi.runtime.setMocks(
    {
      call: ({ token }) => answer(token),
      newResource: ({ type, name, inputs }) => {
        // As JSON: what reaches the engine, and nothing of the program (the stack's own resource holds functions).
        resources.push({ type, name, props: JSON.parse(JSON.stringify(inputs)) });
        return { id: `${name}-id`, state: created(type, name, inputs) };
      },
    },
    'omicron-browser',
    config.env,
  );
  const outputs = await pulumi.runtime.runInPulumiStack(async () => {
    // Mocks do not see `protect`; transformations are.
    pulumi.runtime.registerStackTransformation(({ type, name, opts }) => {
      if (opts.protect) protectedOnes.add(`${type} ${name}`);
      return undefined;
    });
    return stack(config);
  });
  await pulumi.runtime.disconnect();
  return {
    resources: resources.map(one => ({ ...one, protect: protectedOnes.has(`${one.type} ${one.name}`) })),
    outputs: await resolved(outputs),
  };
}

async function resolved(outputs: unknown): Promise<Record<string, unknown>> {
  return new Promise(resolve => {
    pulumi.all(outputs as Record<string, pulumi.Input<unknown>>).apply(values => resolve(values));
  });
}
