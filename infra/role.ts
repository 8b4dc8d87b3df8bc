import * as aws from '@pulumi/aws';
import * as pulumi from '@pulumi/pulumi';
import type { Deployment } from './deployment.ts';
import { tagsFor } from './deployment.ts';
import type { Document } from './documents/document.ts';

/** An IAM document as JSON, from values that may not be known yet. */
export const documentJson = (text: pulumi.Input<Document>): pulumi.Output<string> =>
  pulumi.output(text).apply(known => JSON.stringify(known));

/** A role named after the deployment. Its rights come from `attach` and `grant`. */
export function role(
  deployment: Deployment,
  name: string,
  args: { description: string; trust: pulumi.Input<Document> },
  opts: pulumi.CustomResourceOptions = {},
): aws.iam.Role {
  return new aws.iam.Role(
    name,
    {
      name: `${deployment.name}-${name}`,
      description: args.description,
      assumeRolePolicy: documentJson(args.trust),
      tags: tagsFor(deployment, name),
    },
    opts,
  );
}

/**
 * Attaches AWS-managed policies to a role. Users of the role depend on them, so that they are destroyed after it: a
 * cluster or a node without its rights leaves network interfaces behind.
 */
export function attach(
  name: string,
  role: aws.iam.Role,
  policies: readonly string[],
  opts: pulumi.CustomResourceOptions = {},
): pulumi.Resource[] {
  return policies.map(
    policy =>
      new aws.iam.RolePolicyAttachment(
        `${name}-${policy}`,
        { role: role.name, policyArn: `arn:aws:iam::aws:policy/${policy}` },
        opts,
      ),
  );
}

/** Grants a role rights by an inline policy. */
export function grant(
  name: string,
  role: aws.iam.Role,
  document: pulumi.Input<Document>,
  opts: pulumi.CustomResourceOptions = {},
): aws.iam.RolePolicy {
  return new aws.iam.RolePolicy(name, { name, role: role.name, policy: documentJson(document) }, opts);
}
