import { expect, test } from 'vitest';
import type { CallLease } from '../../../runner/calls/call-lease.ts';
import { conceal } from '../../../runner/calls/conceal.ts';
import { answering, codeOf, stageCall, text } from './stage-call.ts';

/** Fields hold one text before the call, another one after it. */
function lease(...held: string[]) {
  const parts = {
    fields: { texts: async () => new Map([[held.shift() ?? '', 'FIELD']]) },
    texts: { redact: async (given: string) => given.replaceAll('hunter22', '<secret>SHOP_PASSWORD</secret>') },
    own: { names: () => [], answered: () => [] },
  };
  return conceal(parts as unknown as CallLease); // as much of a lease as the stage reads
}

test('the name of a link has no secret, and what is neither text, picture nor link is left out', async () => {
  const link = { type: 'resource_link', uri: 'download:/1', name: 'hunter22.txt' } as const;
  const odd = { type: 'audio', data: '', mimeType: 'audio/wav' } as const;
  const { content } = await lease()(stageCall(), answering({ content: [link, odd] }));
  expect(content).toEqual([{ ...link, name: '<secret>SHOP_PASSWORD</secret>.txt' }]);
});

test('texts are concealed with what fields held before the call too', async () => {
  const call = stageCall();
  await lease('first words', 'later words')(call, answering(text('')));
  const safe = await call.conceal?.('- textbox "A": first words\n- textbox "B": later words\nhunter22');
  for (const secret of ['first words', 'later words', 'hunter22']) expect(safe).not.toContain(secret);
});

test('an answer is marked as untrusted, and keeps nothing but its code of what a tool says beside it', async () => {
  const result = await lease()(
    stageCall(),
    answering({ ...text('no'), isError: true, _meta: { 'omicron.dev/code': 'tabs_full', other: 1 } }),
  );
  expect(codeOf(result)).toBe('tabs_full');
  expect(result).toMatchObject({ isError: true });
  expect(result._meta).toEqual({ 'omicron.dev/untrusted': true, 'omicron.dev/code': 'tabs_full' });
});
