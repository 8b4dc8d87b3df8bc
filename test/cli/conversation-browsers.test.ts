import { expect, it } from 'vitest';
import { conversationBrowsers } from '../../cli/stdio/conversation-browsers.ts';

const ID = '0b8f2f3e-8a1c-4a39-9c9a-3f1a3c8d2b10';

/** Answers which browser a call with this `sessionId` reaches. */
function routes() {
  const opened: (string | undefined)[] = [];
  const ended: (string | undefined)[] = [];
  const browsers = conversationBrowsers(handle => {
    opened.push(handle);
    return {
      call: async () => ({ content: [{ type: 'text', text: handle ?? 'first' }] }),
      callOfPage: async () => ({ content: [] }),
      sessionId: () => (handle === undefined ? ID : undefined),
      end: async () => void ended.push(handle),
    };
  });
  const reached = async (sessionId: unknown) => {
    const { signal } = new AbortController();
    const { content } = await browsers.route({ sessionId }, browser => browser.call('x', {}, { signal }));
    return content[0]?.type === 'text' ? content[0].text : '';
  };
  return { opened, ended, browsers, reached };
}

it('gives the first name, calls without one and the session’s id one browser, and each other name its own', async () => {
  const { reached, opened, ended, browsers } = routes();
  const given = [undefined, 'chat-1', 'chat-2', 'chat-1', 'chat-2', ID, null, 'chat-3'];
  const found: string[] = [];
  for (const each of given) found.push(await reached(each));
  expect(found).toEqual(['first', 'first', 'chat-2', 'first', 'chat-2', 'first', 'first', 'chat-3']);
  expect(opened).toEqual([undefined, 'chat-2', 'chat-3']);
  await browsers.end();
  expect(ended.toSorted()).toEqual(['chat-2', 'chat-3', undefined]);
});

it('leases nothing for the id of a session of others, and refuses what is no text', async () => {
  const { reached, opened } = routes();
  expect(await reached(ID.replace('0', 'f'))).toBe('first'); // whose runner refuses it
  expect(await reached(7)).toContain('invalid_arguments');
  expect(opened).toEqual([undefined]);
});
