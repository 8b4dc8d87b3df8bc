import { randomUUID } from 'node:crypto';
import type { V1Pod } from '@kubernetes/client-node';
import { expect, it } from 'vitest';
import type { RunnerHealth } from '../../../contract/assignment.ts';
import { PORTS } from '../../../contract/names.ts';
import { warmVerdict } from '../../../controller/runners/kubernetes/warm.ts';

// How far a start has come, from the pod and what its runner says of itself.

const gate = { ok: true, detail: 'answers' };
const health = (phase: RunnerHealth['phase'], error?: RunnerHealth['error']): RunnerHealth => ({
  runner_id: randomUUID(),
  boot_id: randomUUID(),
  phase,
  browser: { process: gate, protocol: gate },
  ...(error ? { error } : {}),
});
const READY = [{ type: 'Ready', status: 'True' }];
const pod = (status: V1Pod['status'] = {}): V1Pod => ({
  status: { phase: 'Running', podIP: '10.0.0.7', conditions: READY, ...status },
});

it('is warm when the pod is ready and its runner says so', () => {
  const said = health('warm');
  expect(warmVerdict(pod(), said, 0)).toEqual({
    state: 'warm',
    runner: { bootId: said.boot_id, endpoint: `http://10.0.0.7:${PORTS.runner}` },
  });
  expect(warmVerdict(pod({ podIP: 'fd00::7' }), said, 0)).toMatchObject({
    runner: { endpoint: `http://[fd00::7]:${PORTS.runner}` },
  });
});

it.each([
  ['before the pod is ready', pod({ conditions: [] }), health('warm')],
  ['before it has an address', { status: { phase: 'Pending', conditions: READY } }, null],
  ['while its runner launches', pod(), health('launching')],
  ['while its runner does not answer', pod(), null],
])('is pending %s', (_when, given, said) => {
  expect(warmVerdict(given, said, 60_000)).toMatchObject({ state: 'pending', reason: expect.stringMatching(/.{20}/) });
});

it.each([
  ['sandbox_runtime_required', 'sandbox_runtime_required'],
  ['browser_crashed', 'runner_start_failed'],
  ['anything else', 'runner_start_failed'],
])('has failed, before the pod is ready, when its runner says %s', (code, expected) => {
  const said = health('failed', { code, detail: 'No usable sandbox.' });
  expect(warmVerdict(pod({ conditions: [] }), said, 0)).toMatchObject({
    state: 'failed',
    error: { code: expected, message: 'No usable sandbox.' },
  });
});

it('has failed when its container ended, whatever its runner said last', () => {
  const containerStatuses = [{ name: 'browser', state: { terminated: { exitCode: 1, reason: 'Error' } } }];
  expect(
    warmVerdict(pod({ containerStatuses } as V1Pod['status']), health('warm'), 0), // only what is looked at
  ).toMatchObject({ state: 'failed', error: { code: 'runner_start_failed' } });
});

it('gives an image ten seconds that cannot be pulled', () => {
  const containerStatuses = [{ name: 'browser', image: 'nowhere/x', state: { waiting: { reason: 'ErrImagePull' } } }];
  const given = pod({ podIP: '', conditions: [], containerStatuses } as unknown as V1Pod['status']); // only what is looked at
  expect(warmVerdict(given, null, 10_000)).toMatchObject({ state: 'pending' });
  expect(warmVerdict(given, null, 10_001)).toMatchObject({
    state: 'failed',
    error: { message: expect.stringContaining('nowhere/x') },
  });
});
