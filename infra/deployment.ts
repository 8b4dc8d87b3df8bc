import type * as pulumi from '@pulumi/pulumi';
import { PROJECT } from './config.ts';

/** Facts about a stack that every component needs. */
export interface Deployment {
  readonly env: string;
  /** First part of every name in AWS: `omicron-browser-<env>`. */
  readonly name: string;
  readonly region: string;
  readonly accountId: pulumi.Output<string>;
  /** On every resource that can carry tags; a rule of policies/ finds those without. */
  readonly tags: Readonly<Record<string, string>>;
  /** Refuse to delete what cannot be recreated. */
  readonly protect: boolean;
}

export function deploymentOf(args: Omit<Deployment, 'name' | 'tags'>): Deployment {
  return {
    ...args,
    name: `${PROJECT}-${args.env}`,
    tags: { project: PROJECT, env: args.env, 'managed-by': 'pulumi' },
  };
}

/** Tags of one resource that has a name of its own in the console. */
export const tagsFor = (deployment: Deployment, name: string): Record<string, string> => ({
  ...deployment.tags,
  Name: `${deployment.name}-${name}`,
});
