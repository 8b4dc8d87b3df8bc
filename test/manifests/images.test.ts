import { expect, test } from 'vitest';
import { ENVIRONMENTS } from '../../manifests/environments.ts';
import { imageDigests } from '../../manifests/image-digests.ts';
import images from '../../manifests/images.json' with { type: 'json' };
import { type KubernetesObject, renderObjects } from '../../manifests/render.ts';
import { pushed } from './pushed.ts';

const AWS = [ENVIRONMENTS.dev, ENVIRONMENTS.prod];
const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`;
const NONE = { controller: null, runner: null, egress: null, console: null };

/** Objects that make pods of our images; placeholders run Kubernetes' own. */
const workloads = (env: (typeof ENVIRONMENTS)['prod']): KubernetesObject[] =>
  [...renderObjects(env).values()].filter(
    ({ kind, metadata }) => /^(Deployment|PodTemplate)$/.test(kind) && metadata.name !== 'spare-runner',
  );
const imagesOf = (object: KubernetesObject): string[] =>
  [...JSON.stringify(object).matchAll(/"image":"([^"]*)"/g)].map(([, image]) => image ?? '');
const sentenceOf = ({ metadata }: KubernetesObject) => metadata.labels?.['omicron.dev/image'];

test.each([`sha256:${'0'.repeat(64)}`, `sha256:${'1'.repeat(64)}`, 'sha256:0', 'latest', '', 7])(
  'rendering refuses the digest %s, and says what to run',
  digest => {
    expect(() => imageDigests({ dev: NONE, prod: { ...NONE, runner: digest } })).toThrow(
      'manifests/images.json: prod.runner must be the digest of a pushed image, or null where it is not pushed: run "npm run images -- --push prod", then "npm run manifests".',
    );
  },
);

test('committed images are digests that a registry gave, or null', () => {
  expect(imageDigests(images)).toEqual(images);
  expect(imageDigests({ dev: NONE, prod: { ...NONE, runner: DIGEST } }).prod.runner).toBe(DIGEST);
});

test.each(AWS)('$name without pushed images is a template that the API server refuses with what to run', env => {
  const template = workloads({ ...env, images: { ...env.images, controller: '', runner: '', egress: '' } });
  expect(template).toHaveLength(3);
  for (const object of template) {
    expect(new Set(imagesOf(object))).toEqual(new Set(['']));
    // no value of a label: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
    expect(sentenceOf(object)).toContain(`run "npm run images -- --push ${env.name}"`);
  }
});

test.each(AWS)('$name with pushed images names each by its digest, and nothing else is in the way', env => {
  const deployable = workloads(pushed(env));
  expect(deployable).toHaveLength(3);
  for (const object of deployable) {
    for (const image of imagesOf(object)) expect(image).toMatch(/@sha256:[0-9a-f]{64}$/);
    expect(sentenceOf(object)).toBeUndefined();
  }
});
