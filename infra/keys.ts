import * as aws from '@pulumi/aws';
import type * as pulumi from '@pulumi/pulumi';
import type { Deployment } from './deployment.ts';
import { tagsFor } from './deployment.ts';

/**
 * A customer managed key with an alias, rotated every year. A stack that protects its data waits the longest time
 * that KMS offers before a deleted key is gone, another the shortest:
 * https://docs.aws.amazon.com/kms/latest/developerguide/deleting-keys.html
 */
export function key(
  deployment: Deployment,
  name: string,
  args: { description: string; policy: pulumi.Input<string>; protect?: boolean },
  opts: pulumi.CustomResourceOptions = {},
): aws.kms.Key {
  const made = new aws.kms.Key(
    name,
    {
      description: args.description,
      policy: args.policy,
      enableKeyRotation: true,
      deletionWindowInDays: deployment.protect ? 30 : 7,
      tags: tagsFor(deployment, name),
    },
    { ...opts, protect: args.protect ?? false },
  );
  new aws.kms.Alias(name, { name: `alias/${deployment.name}/${name}`, targetKeyId: made.keyId }, opts);
  return made;
}
