import * as aws from '@pulumi/aws';
import * as pulumi from '@pulumi/pulumi';
import { type Deployment, tagsFor } from './deployment.ts';

/** One repository per image that the manifests name. */
const IMAGES = ['controller', 'runner', 'egress', 'console'] as const;
export type Image = (typeof IMAGES)[number];

// Enough to roll back by months at a release a day; older images are deleted with their scan findings.
const RELEASES_KEPT = 60;

/** https://docs.aws.amazon.com/AmazonECR/latest/userguide/LifecyclePolicies.html */
const LIFECYCLE = {
  rules: [
    {
      rulePriority: 1,
      description: 'Layers that no tag names',
      selection: { tagStatus: 'untagged', countType: 'sinceImagePushed', countUnit: 'days', countNumber: 7 },
      action: { type: 'expire' },
    },
    {
      rulePriority: 2,
      description: `All but the newest ${RELEASES_KEPT}`,
      selection: { tagStatus: 'any', countType: 'imageCountMoreThan', countNumber: RELEASES_KEPT },
      action: { type: 'expire' },
    },
  ],
};

/** Image repositories with immutable tags; every image is scanned. */
export class Registry extends pulumi.ComponentResource {
  readonly urls: Readonly<Record<Image, pulumi.Output<string>>>;

  constructor(deployment: Deployment, keyArn: pulumi.Input<string>) {
    super('omicron:infra:Registry', 'registry');
    const opts = { parent: this };
    const repository = (image: Image): pulumi.Output<string> => {
      const made = new aws.ecr.Repository(
        image,
        {
          name: `${deployment.name}/${image}`,
          imageTagMutability: 'IMMUTABLE',
          imageScanningConfiguration: { scanOnPush: true },
          encryptionConfigurations: [{ encryptionType: 'KMS', kmsKey: keyArn }],
          forceDelete: !deployment.protect,
          tags: tagsFor(deployment, image),
        },
        opts,
      );
      new aws.ecr.LifecyclePolicy(image, { repository: made.name, policy: JSON.stringify(LIFECYCLE) }, opts);
      return made.repositoryUrl;
    };
    this.urls = {
      controller: repository('controller'),
      runner: repository('runner'),
      egress: repository('egress'),
      console: repository('console'),
    };
    this.registerOutputs();
  }
}
