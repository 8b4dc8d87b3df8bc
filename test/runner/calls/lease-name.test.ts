import { expect, test } from 'vitest';
import { leaseName } from '../../../runner/calls/lease-name.ts';

const ID = '0190d3a0-1111-7000-8000-000000000001';
const OTHER = '0190d3a0-1111-7000-8000-000000000002';

test('a call may leave the name out, send the id of the session, or the first name that a call made up', () => {
  const isOwn = leaseName(ID);
  expect([undefined, ID, 'task-1', 'task-1'].map(isOwn)).toEqual([true, true, true, true]);
  expect([ID, 'task-2', ''].map(isOwn)).toEqual([true, false, false]);
});

test('the id of another session, or what is no text, never becomes a name', () => {
  const isOwn = leaseName(ID);
  expect([OTHER, 7, null, 'x'.repeat(257)].map(isOwn)).toEqual([false, false, false, false]);
  expect(isOwn('task-1')).toBe(true);
});
