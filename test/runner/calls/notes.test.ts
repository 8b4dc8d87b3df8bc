import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import type { CallLease } from '../../../runner/calls/call-lease.ts';
import { notes } from '../../../runner/calls/notes.ts';
import { actingTool, answering, besideTool, stageCall, text } from './stage-call.ts';

function lease() {
  const shown: object[] = [];
  const parts = {
    browser: {
      show: (view: object) => shown.push(view),
      parts: {
        context: Object.assign(new EventEmitter(), { pages: () => [] }),
        guard: {
          awaited: { takeNotes: () => ['A document was given up.'] },
          incidents: { takeNotes: () => ['A tab was closed.'] },
          dialogs: { all: () => [] },
        },
      },
    },
    pages: { beforeClosing: async () => shown.push({ kept: true }), afterCall: async () => ({}) },
    messages: { take: async () => ['[ERROR] broken'] },
    arrivals: { take: () => ({ notes: ['Downloaded file a.txt'], links: [LINK] }) },
    challenges: async () => ['The page asks to solve a CAPTCHA.'],
    logins: { take: () => ['The site asks for a password by HTTP.'] },
    outside: { take: () => ['The page asked to print.'] },
    forwarder: undefined,
  };
  return { shown, stage: notes(parts as unknown as CallLease) }; // as much of a lease as the stage reads
}
const LINK = { type: 'resource_link', uri: 'download:/1', name: 'a.txt' };

const said = async (...[tool]: [Parameters<typeof stageCall>[0]]) => {
  const { content } = await lease().stage(stageCall(tool), answering(text('done')));
  return content.map(part => (part.type === 'text' ? part.text : part.type));
};

test('an answer has what happened beside it, the page first and the console last', async () => {
  expect(await said({ tool: actingTool({}) })).toEqual([
    ...[
      'done',
      'The page asks to solve a CAPTCHA.',
      'The site asks for a password by HTTP.',
      'The page asked to print.',
    ],
    ...['A tab was closed.', 'A document was given up.', 'Downloaded file a.txt'],
    ...['Console:\n[ERROR] broken', 'resource_link'],
  ]);
});

test('a tool that reads says nothing of the console, one that waits may find a challenge', async () => {
  expect(await said({ tool: actingTool({ effect: 'reads' }) })).not.toContain('Console:\n[ERROR] broken');
  expect(await said({ tool: actingTool({ effect: 'waits' }) })).toContain('The page asks to solve a CAPTCHA.');
});

test('a call on the page says how it wants to see it, one beside does not, one that closes keeps the page first', async () => {
  const { stage, shown } = lease();
  const done = answering(text('done'));
  await stage(stageCall({ tool: besideTool(done) }), done);
  expect(shown).toEqual([]);
  await stage(stageCall({ tool: actingTool({ effect: 'closes' }), view: { snapshot: 'none', tokensMax: 300 } }), done);
  expect(shown).toEqual([{ snapshot: 'none', tokensMax: 300 }, { kept: true }]);
});
