import { expect, test } from 'vitest';
import { fitRunners, kubeletReservedMiB, kubeletReservedMillicores } from '../../contract/node-capacity.ts';
import { podRequests, RUNNER_SHAPES, resourcesOfShape } from '../../contract/runner-shapes.ts';

const lean = podRequests(RUNNER_SHAPES.lean);
const standard = podRequests(RUNNER_SHAPES.standard);
const node = { cores: 32, memoryGiB: 64, diskGiB: 300, podsMax: 125 } as const;

test.each([
  [2, 70],
  [4, 80],
  [8, 90],
  [16, 110],
  [64, 230],
])('a kubelet on %i cores keeps %i thousandths of one, as a node of EKS reports', (cores, milli) => {
  expect(kubeletReservedMillicores(cores)).toBe(milli);
});

test('a kubelet of 58 pods keeps 893 MiB, one of 234 pods 2,829', () => {
  expect([58, 234].map(kubeletReservedMiB)).toEqual([893, 2_829]);
});

test('each resource can be the one that is used up first', () => {
  expect(fitRunners(node, lean)).toEqual({ runners: 120, limitedBy: 'memory' });
  expect(fitRunners({ ...node, diskGiB: 100 }, lean)).toEqual({ runners: 43, limitedBy: 'disk' });
  expect(fitRunners({ ...node, podsMax: 110 }, lean)).toEqual({ runners: 108, limitedBy: 'pods' });
  expect(fitRunners({ ...node, memoryGiB: 128 }, lean)).toEqual({ runners: 123, limitedBy: 'pods' });
  expect(fitRunners({ ...node, memoryGiB: 128, podsMax: 234 }, lean)).toEqual({ runners: 126, limitedBy: 'cpu' });
  expect(fitRunners({ cores: 8, memoryGiB: 32, diskGiB: 100, podsMax: 58 }, standard)).toEqual({
    runners: 7,
    limitedBy: 'cpu',
  });
});

test('fewer pods leave room for more runners: what EKS reserves for 234 pods takes that of two', () => {
  expect(fitRunners({ ...node, podsMax: 234 }, lean).runners).toBe(118);
});

test('a shape that is none is refused with those that are', () => {
  expect(resourcesOfShape('lean')).toBe(RUNNER_SHAPES.lean);
  expect(() => resourcesOfShape('tiny')).toThrow('"tiny" is no shape of a runner: choose one of standard, lean.');
});
