import { expect, test } from 'vitest';
import { challengeNotes } from '../../../../runner/calls/notes/challenge-notes.ts';
import { failureResult } from '../../../../runner/results/result.ts';
import { fakeTabs } from '../fake-tabs.ts';
import { text } from '../stage-call.ts';

function challenged(kind: 'captcha' | 'code' | undefined = 'captcha') {
  const tabs = fakeTabs('https://shop.test/check#step');
  const seen: string[] = [];
  const notes = challengeNotes({
    tab: () => tabs.page,
    challenge: async () => kind,
    onSeen: (challenge, url) => seen.push(`${challenge} ${url}`),
  });
  return { tabs, seen, notes };
}

test('a page that asks for its person has one note for each address', async () => {
  const { tabs, seen, notes } = challenged();
  expect(await notes(text('clicked'))).toEqual([expect.stringContaining('call browser_request_user_action')]);
  tabs.at = 'https://shop.test/check#other';
  expect(await notes(text('clicked'))).toEqual([]);
  tabs.at = 'https://shop.test/again';
  expect(await notes(text('clicked'))).toHaveLength(1);
  expect(seen).toEqual(['captcha https://shop.test/check#step', 'captcha https://shop.test/again']);
});

test('a login that says so itself has no note beside', async () => {
  const { seen, notes } = challenged('code');
  expect(await notes(failureResult('captcha_or_mfa', 'The site asks for a code.'))).toEqual([]);
  expect(seen).toEqual([]);
});
