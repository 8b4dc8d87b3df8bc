import { expect, it } from 'vitest';
import { faultsOfSubject } from './commit-subject.ts';

it.each([
  'Keep a lease that is held',
  'Embed the live view',
  'Process events in order',
  'Re-read the row',
  `Merge ${'long '.repeat(30)}`,
  `Add ${'x'.repeat(68)}`,
])('takes the subject "%s"', subject => {
  expect(faultsOfSubject(subject)).toEqual([]);
});

it.each([
  [`Add ${'x'.repeat(69)}`, /73 characters/],
  ['Keep a lease.', /full stop/],
  ['Runner: keep a lease', /begins with "Runner:"/],
  ['keep a lease', /capital letter/],
  ['Added a lease', /begins with "Added": write the imperative/],
  ['Adding a lease', /imperative/],
  ['Adds a lease', /imperative/],
  ['What is kept of a lease', /imperative/],
  ['fixup! Keep a lease', /begins with "fixup!"/],
])('refuses the subject "%s"', (subject, fault) => {
  expect(faultsOfSubject(subject)).toEqual([expect.stringMatching(fault)]);
});
