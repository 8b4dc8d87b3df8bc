import { ApiObject } from 'cdk8s';
import type { Construct } from 'constructs';
import { NAMESPACES } from '../../contract/names.ts';
import type { Environment } from '../environment-type.ts';
import { meta } from './meta.ts';

/** Kyverno asks the registry within this time, or refuses the pod. */
const REGISTRY_SECONDS = 20;
const KINDS = ['containers', 'initContainers', 'ephemeralContainers'] as const;

/**
 * Refuses pods of both namespaces with an image that the environment's key did not sign, the pause image of spare runners excepted: it is
 * not built here, and its digest is in the manifests. A ValidatingAdmissionPolicy cannot ask a registry, so this is a policy of Kyverno 1.19 or
 * newer: https://kyverno.io/docs/policy-types/image-validating-policy/
 */
export function signedImages(scope: Construct, env: Environment): void {
  if (!env.signedImages) return;
  const { publicKey, registryProvider } = env.signedImages;
  const lists = KINDS.map(kind => `images.?${kind}.orValue([])`).join(' + ');
  new ApiObject(scope, 'signed-images', {
    apiVersion: 'policies.kyverno.io/v1',
    kind: 'ImageValidatingPolicy',
    metadata: meta('omicron-signed-images', { wave: 'isolation' }),
    spec: {
      failurePolicy: 'Fail',
      validationActions: ['Deny'],
      webhookConfiguration: { timeoutSeconds: REGISTRY_SECONDS },
      // manifests name images by digest: none is put in place of a tag
      validationConfigurations: { mutateDigest: false, verifyDigest: true, required: true },
      matchConstraints: {
        namespaceSelector: {
          matchExpressions: [
            {
              key: 'kubernetes.io/metadata.name',
              operator: 'In',
              values: [NAMESPACES.runners, NAMESPACES.system],
            },
          ],
        },
        resourceRules: [
          {
            apiGroups: [''],
            apiVersions: ['v1'],
            operations: ['CREATE', 'UPDATE'],
            resources: ['pods', 'pods/ephemeralcontainers'],
          },
        ],
      },
      matchImageReferences: [{ expression: `ref != '${env.images.pause}'` }],
      ...(registryProvider ? { credentials: { providers: [registryProvider] } } : {}),
      attestors: [
        {
          name: 'release',
          // Signatures of a release are in no public log: docs/verify.md
          cosign: { key: { data: publicKey }, ctlog: { insecureIgnoreTlog: true, insecureIgnoreSCT: true } },
        },
      ],
      validations: [
        {
          expression: `(${lists}).all(image, verifyImageSignatures(image, [attestors.release]) > 0)`,
          message: 'an image is not signed by the key of this deployment (signedImages)',
        },
      ],
    },
  });
}
