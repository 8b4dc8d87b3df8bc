import { generateKeyPairSync } from 'node:crypto';
import { expect, it } from 'vitest';
import { NAMESPACES } from '../../contract/names.ts';
import { ENVIRONMENTS } from '../../manifests/environments.ts';
import { renderObjects } from '../../manifests/render.ts';
import { pushed } from './pushed.ts';

const publicKey = String(
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ type: 'spki', format: 'pem' }),
);
const prod = pushed(ENVIRONMENTS.prod);
const FILE = 'core/cluster/imagevalidatingpolicy.omicron-signed-images.yaml';

it('no environment asks for signatures unless it has a key', () => {
  for (const env of Object.values(ENVIRONMENTS)) expect([...renderObjects(env).keys()]).not.toContain(FILE);
});

it('an environment with a key refuses every image that it did not sign, in both namespaces, when Kyverno does not answer too', () => {
  const objects = renderObjects({ ...prod, signedImages: { publicKey, registryProvider: 'amazon' } });
  const policy = objects.get(FILE);
  expect(policy).toMatchObject({
    kind: 'ImageValidatingPolicy',
    spec: {
      failurePolicy: 'Fail',
      validationActions: ['Deny'],
      validationConfigurations: { required: true, verifyDigest: true },
      matchConstraints: {
        namespaceSelector: { matchExpressions: [{ operator: 'In', values: [NAMESPACES.runners, NAMESPACES.system] }] },
        resourceRules: [{ operations: ['CREATE', 'UPDATE'], resources: ['pods', 'pods/ephemeralcontainers'] }],
      },
      // the one image that is not built here
      matchImageReferences: [{ expression: `ref != '${prod.images.pause}'` }],
      credentials: { providers: ['amazon'] },
      attestors: [{ cosign: { key: { data: publicKey } } }],
    },
  });
  const project = [...objects.values()].find(({ kind }) => kind === 'AppProject');
  expect(JSON.stringify(project)).toContain('"ImageValidatingPolicy"');
});
