import { ApiException, type V1Pod, type V1PodTemplate } from '@kubernetes/client-node';
import { describe, expect, it } from 'vitest';
import { LABELS } from '../../../contract/names.ts';
import { apiFault } from '../../../controller/runners/kubernetes/api.ts';
import { runnerPod, templateDigest } from '../../../controller/runners/kubernetes/objects.ts';
import { deathOfPod, pendingReason } from '../../../controller/runners/kubernetes/verdict.ts';

// Decisions of the Kubernetes provider without a cluster: the objects it would create, and what a pod's state means.

const ID = '6c8f1f6e-0000-4000-8000-000000000001';
const template: V1PodTemplate = {
  metadata: { name: 'pw-mcp-runner', uid: 'template-uid' },
  template: {
    metadata: { labels: { team: 'browsers' }, annotations: { note: 'kept' } },
    spec: { containers: [{ name: 'browser', image: 'runner@sha256:1' }], restartPolicy: 'Never' },
  },
};

describe('the objects of one runner', () => {
  it('are the template under its name, owned by it, without any user', () => {
    const pod = runnerPod(template, ID, `pw-mcp-${ID}`, 'runners-a-0');
    expect(pod.metadata).toMatchObject({
      name: `pw-mcp-${ID}`,
      labels: {
        team: 'browsers',
        app: 'pw-mcp-runner',
        [LABELS.runnerId]: ID,
        [LABELS.state]: 'warm',
        [LABELS.nameSlice]: 'runners-a-0',
      },
      annotations: { note: 'kept' },
      ownerReferences: [{ kind: 'PodTemplate', name: 'pw-mcp-runner', uid: 'template-uid' }],
    });
    expect(pod.metadata?.labels).not.toHaveProperty(LABELS.userIdHash);
    expect(pod.metadata?.labels).not.toHaveProperty(LABELS.sessionId);
    expect(pod.spec).toEqual(template.template?.spec);
  });

  it('a template without a pod is refused with what to do', () => {
    expect(() => runnerPod({ metadata: template.metadata ?? {} }, ID, 'x', 'y')).toThrow(
      /apply the rendered manifests/,
    );
  });

  it('the digest follows what a pod would be, not the order of keys or what the server adds', () => {
    const spec = { restartPolicy: 'Never', containers: [{ image: 'runner@sha256:1', name: 'browser' }] };
    const same: V1PodTemplate = {
      metadata: { name: 'pw-mcp-runner', uid: 'another', resourceVersion: '99' },
      template: { spec, metadata: { annotations: { note: 'kept' }, labels: { team: 'browsers' } } },
    };
    expect(templateDigest(same)).toBe(templateDigest(template));
    spec.containers[0] = { image: 'runner@sha256:2', name: 'browser' };
    expect(templateDigest(same)).not.toBe(templateDigest(template));
  });
});

const browser = (state: object) => ({ containerStatuses: [{ name: 'browser', state }] });
const pod = (status: object, metadata: object = {}): V1Pod => ({ metadata, status }) as V1Pod; // only what is looked at

describe('the state of a pod decides about its lease', () => {
  it.each<[string, V1Pod, { ended: boolean; reason: RegExp } | null]>([
    ['runs', pod({ phase: 'Running', ...browser({ running: {} }) }), null],
    ['is pending', pod({ phase: 'Pending' }), null],
    [
      'is not ready, on a node that fell silent',
      pod({ phase: 'Running', conditions: [{ type: 'Ready', status: 'Unknown' }] }),
      null,
    ],
    [
      'ran out of memory',
      pod({ ...browser({ terminated: { reason: 'OOMKilled', exitCode: 137 } }) }),
      { ended: true, reason: /out of memory/ },
    ],
    [
      'was killed by its kubelet',
      pod({ ...browser({ terminated: { reason: 'Error', exitCode: 137, message: '{"phase":"leased"}' } }) }),
      { ended: true, reason: /did not answer its liveness probe/ },
    ],
    [
      'was killed by its watchdog',
      pod({
        ...browser({
          terminated: {
            reason: 'Error',
            exitCode: 137,
            message:
              '{"phase":"leased"}\n{"level":60,"why":"it had not answered over HTTP for 20 s","msg":"killing it"}\n',
          },
        }),
      }),
      { ended: true, reason: /exit code 137\): it had not answered over HTTP for 20 s\. Request a new lease/ },
    ],
    [
      'crashed',
      pod({ ...browser({ terminated: { reason: 'Error', exitCode: 1, message: 'first\nno browser was found\n' } }) }),
      { ended: true, reason: /exit code 1\): no browser was found\./ },
    ],
    [
      'ended while its uploader still sends',
      pod({
        phase: 'Running',
        initContainerStatuses: [{ name: 'uploader', state: { running: {} } }],
        ...browser({ terminated: { exitCode: 0 } }),
      }),
      { ended: true, reason: /ended/ },
    ],
    [
      'was evicted',
      pod({ phase: 'Failed', reason: 'Evicted', message: 'The node was low on memory.' }),
      { ended: true, reason: /Evicted: The node was low/ },
    ],
    [
      'is being drained off its node',
      pod(
        {
          phase: 'Running',
          conditions: [
            { type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI', message: 'Eviction API' },
          ],
        },
        { deletionTimestamp: new Date() },
      ),
      { ended: false, reason: /EvictionByEvictionAPI/ },
    ],
  ])('that %s', (_what, given, expected) => {
    const death = deathOfPod(given);
    if (expected === null) expect(death).toBeNull();
    else {
      expect(death?.ended).toBe(expected.ended);
      expect(death?.reason).toMatch(expected.reason);
      expect(death?.reason).toMatch(/Request a new lease/);
    }
  });

  it('says in the scheduler’s own words why no node takes it, and waits for one', () => {
    const conditions = [
      {
        type: 'PodScheduled',
        status: 'False',
        reason: 'Unschedulable',
        message: '0/3 nodes are available: 3 Insufficient cpu.',
      },
    ];
    expect(pendingReason(pod({ phase: 'Pending', conditions }))).toEqual({
      hopeless: false,
      reason: 'The pod cannot be scheduled (Unschedulable): 0/3 nodes are available: 3 Insufficient cpu.',
    });
  });

  it('does not wait for an image that cannot be had', () => {
    const status = {
      containerStatuses: [
        {
          name: 'browser',
          image: 'nowhere/x',
          state: { waiting: { reason: 'ImagePullBackOff', message: 'Back-off' } },
        },
      ],
    };
    expect(pendingReason(pod(status))).toMatchObject({ hopeless: true, reason: expect.stringContaining('nowhere/x') });
  });
});

describe('answers of the API server map to outcomes', () => {
  it.each([
    [404, 'not_found'],
    [409, 'conflict'],
    [410, 'gone'],
    [403, 'refused'],
    [422, 'refused'],
    [429, 'busy'],
    [500, 'busy'],
    [503, 'busy'],
  ])('%d is %s', (code, fault) => {
    expect(apiFault(new ApiException(code, '', undefined, { 'retry-after': '3' }))).toEqual({
      fault,
      retryAfterMs: 3000,
    });
  });
  it('an hour is not waited for', () => {
    const error = new ApiException(503, '', undefined, { 'retry-after': '3600' });
    expect(apiFault(error)).toEqual({ fault: 'busy', retryAfterMs: 30_000 });
  });
  it('no answer is unknown: what is there must be looked at before it is done again', () => {
    expect(apiFault(new TypeError('fetch failed'))).toEqual({ fault: 'unknown', retryAfterMs: null });
  });
});
