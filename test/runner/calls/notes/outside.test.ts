import { expect, test } from 'vitest';
import { REFUSAL_HEADER } from '../../../../contract/egress.ts';
import { outsideNotes } from '../../../../runner/calls/notes/outside.ts';
import { documentOf, fakeTabs } from '../fake-tabs.ts';

const CALLBACK = 'http://127.0.0.1:8400/callback?code=abc';

function followed() {
  const tabs = fakeTabs();
  Object.assign(tabs.context, { addInitScript: async () => undefined });
  return { tabs, notes: outsideNotes(tabs.context, () => undefined) };
}

test('a sign-in of a program whose address the way out refuses has a note with the whole address', () => {
  const { tabs, notes } = followed();
  tabs.emit('response', documentOf(tabs, 'https://login.test/', 302, { location: CALLBACK }).response);
  tabs.emit('response', documentOf(tabs, CALLBACK, 403, { [REFUSAL_HEADER]: 'internal_address' }).response);
  expect(notes.take()).toEqual([
    expect.stringContaining(`on the person's own computer, which is not here: ${CALLBACK}`),
  ]);
  expect(notes.take()).toEqual([]);
});

test('a sign-in that something answers has no note', () => {
  const { tabs, notes } = followed();
  tabs.emit('response', documentOf(tabs, 'https://login.test/', 302, { location: CALLBACK }).response);
  tabs.emit('response', documentOf(tabs, CALLBACK).response);
  expect(notes.take()).toEqual([]);
});

test('an own machine without the answer of a sign-in has no note', () => {
  const { tabs, notes } = followed();
  const page = 'http://localhost:3000/shop?page=2';
  tabs.emit('response', documentOf(tabs, 'https://login.test/', 302, { location: page }).response);
  tabs.emit('requestfailed', documentOf(tabs, page).request);
  expect(notes.take()).toEqual([]);
});
