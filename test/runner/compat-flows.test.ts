import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { FILE_FOLDERS } from '../../contract/names.ts';
import { eventually } from '../eventually.ts';
import { type FlowSite, startFlowSite } from '../site/flow-site.ts';
import { type LeasedRunner, startLease } from './start-lease.ts';

/** An agent with the compatible tools alone, on pages as it meets them: it decides by nothing but what results say. */
let site: FlowSite;
let lease: LeasedRunner;
beforeAll(async () => {
  site = await startFlowSite();
  lease = await startLease({ toolset: 'compat', recordVideo: false });
});
afterAll(async () => {
  await lease[Symbol.asyncDispose]();
  site.close();
});
beforeEach(async () => {
  await call('browser_close');
});

async function call(name: string, args: Record<string, unknown> = {}) {
  const { content } = await lease.client.callTool({ name, arguments: args });
  const [first] = content as { text?: string }[]; // the tool-result shape of the protocol
  const text = first?.text ?? '';
  return { text, ...(text.startsWith('{') ? JSON.parse(text) : {}) };
}
const open = (page: string) => call('browser_navigate', { url: `${site.url}/${page}` });
const click = (selector: string) => call('browser_click', { selector });
const type = (selector: string, text: string) => call('browser_type', { selector, text });
const content = async (): Promise<string> => (await call('browser_get_content', { format: 'text' })).content;
/** The selector that the page's outline gives for this text or label. */
async function selectorOf(name: string): Promise<string> {
  const { forms, fields, buttons } = await call('browser_get_content');
  const all = [...forms.flatMap((form: { fields: object[] }) => form.fields), ...fields, ...buttons];
  const found = all.find(each => each.text === name || each.label === name);
  if (found === undefined) throw new Error(`the outline has no ${name}: ${JSON.stringify(all)}`);
  return found.selector;
}

test('a login: a banner covers it, and "remember me" is drawn by its label', async () => {
  await open('login');
  const covered = await click('form button');
  expect(covered).toMatchObject({
    error: { code: 'browser_action_timeout:browser_click:5s', message: expect.stringContaining('<div id="banner">') },
    hints: [expect.stringContaining('Close what covers it')],
  });
  await click(await selectorOf('Accept all'));
  const sent = await call('browser_fill_and_submit', {
    fields: [
      { selector: await selectorOf('Mail'), value: 'ada@example.com' },
      { selector: await selectorOf('Password'), value: 'open sesame' },
      { selector: await selectorOf('Remember me'), value: 'true' },
    ],
  });
  expect(sent.title).toBe('Thank you for login');
  expect(site.sent.at(-1)).toBe('mail=ada%40example.com&password=open+sesame&remember=yes');
});

test('a search that suggests while keys are pressed', async () => {
  await open('suggest');
  await type(await selectorOf('City'), 'Ber');
  expect((await click(await selectorOf('Bergen'))).title).toBe('Done: Bergen');
});

test('a form that is not sent says why, and takes dates as people write them', async () => {
  await open('order');
  const { hints } = await call('browser_fill_and_submit', {
    fields: [{ selector: '[name=mail]', value: 'ada' }],
    submitSelector: 'button',
  });
  expect(hints).toEqual([
    expect.stringMatching(/"Size" is as it is: .*select an item/),
    expect.stringMatching(/"Mail" is as it is: .*'@'/),
    expect.stringContaining('"Deliver on"'),
  ]);
  expect((await type('[name=day]', '3/4/2026')).hints).toEqual([expect.stringContaining('2026-11-24')]);
  const sent = await call('browser_fill_and_submit', {
    fields: [
      { selector: '[name=day]', value: '24.11.2026' },
      { selector: '[name=mail]', value: 'ada@example.com' },
      { selector: '[name=size]', value: 'large' },
    ],
  });
  expect(sent.title).toBe('Thank you for order');
  expect(site.sent.at(-1)).toBe('size=l&mail=ada%40example.com&day=2026-11-24');
});

test('a wizard of radio buttons, each step after the one before', async () => {
  await open('wizard');
  await type(await selectorOf('Us'), 'true');
  await click(await selectorOf('Next'));
  await type(await selectorOf('Two years'), 'Two years');
  expect((await click(await selectorOf('Buy'))).title).toBe('Done: us,2');
});

test('a link that opens in a new tab, and work there', async () => {
  await open('tabs');
  const [note] = (await click('a')).notes;
  const { index } = JSON.parse(/browser_tabs (\{.*\})/.exec(note)?.[1] ?? '{}');
  await call('browser_tabs', { action: 'select', index });
  expect((await click(await selectorOf('Buy'))).title).toBe('Done: bought');
  await call('browser_tabs', { action: 'close', index });
  expect((await call('browser_wait', { ms: 0 })).title).toBe('Catalogue');
});

test('a feed that grows in a part of the page', async () => {
  await open('feed');
  let atEnd = false;
  for (let n = 0; n < 10 && !atEnd; n += 1)
    atEnd = (await call('browser_scroll', { direction: 'down', amount: 10_000 })).atEnd;
  expect(await content()).toContain('Post 40');
  expect((await call('browser_scroll', { direction: 'up', amount: 99_999 })).scrollY).toBe(0);
});

test('a file for a field, by its name or by the chooser; one that is gone is named without its path', async () => {
  expect(await open('report.csv')).toMatchObject({
    success: true,
    notes: expect.arrayContaining(['Downloading file report.csv']),
  });
  await eventually('the download is kept', async () => (await call('browser_file_list')).files.length === 1);
  await open('upload');
  const hint = (await type('[name=cv]', 'cv.pdf')).hints;
  expect(hint).toEqual(['Its files: "report.csv".']);
  const fields = [{ selector: await selectorOf('CV'), value: 'report.csv' }];
  expect((await call('browser_fill_and_submit', { fields, submitSelector: 'button' })).title).toMatch(/for upload$/);
  expect(site.sent.at(-1)).toContain('a,b\n1,2');

  await open('upload');
  expect((await click('text=Attach')).notes).toEqual([expect.stringContaining('A file chooser is open')]);
  await call('browser_file_upload', { paths: ['report.csv'] });
  expect((await call('browser_wait', { ms: 0 })).title).toBe('Done: report.csv');
  await rm(join(lease.runner.outputDir, FILE_FOLDERS.download, 'report.csv'));
  const gone = await type(await selectorOf('CV'), 'report.csv');
  expect(gone.error.message).toMatch(/^The file "report.csv" is gone .* Bring it in/);
  await click('text=Attach');
  const { error, text } = await call('browser_file_upload', { paths: ['report.csv'] });
  expect([error.code, text.includes(lease.runner.outputDir)]).toEqual(['file_not_found', false]);
});

test('a dialog that asks, one that asks whether to leave, and a file chooser in the way of neither', async () => {
  await open('confirm');
  await click('input');
  expect((await click('button')).hints).toEqual([expect.stringContaining('browser_handle_dialog')]);
  await call('browser_handle_dialog', { accept: false });
  expect((await call('browser_wait', { ms: 0 })).title).toBe('Done: kept');
  await open('leave');
  await type('input', 'half a sentence');
  expect((await open('confirm')).error.code).toBe('dialog_open');
  await call('browser_handle_dialog', { accept: true });
  expect((await call('browser_wait', { ms: 0 })).title).toBe('Item');
});

test('an editor, and a menu that opens where the mouse is', async () => {
  await open('editor');
  await type(await selectorOf('Note'), 'New text');
  expect((await click(await selectorOf('Save'))).title).toBe('Done: New text');
  await open('menu');
  expect((await click('text=Phones')).hints).toEqual([expect.stringContaining('click the menu')]);
  await click('text=Products');
  expect((await click('text=Phones')).title).toBe('Done: phones');
});

test('a table page by page, and pages that are errors', async () => {
  await open('table');
  expect(await content()).toContain('Order 3');
  let disabled = false;
  for (let n = 0; n < 5 && !disabled; n += 1) {
    await click('#next');
    disabled = (await call('browser_get_content', { format: 'html' })).content.includes('id="next" disabled');
  }
  expect(await content()).toContain('Order 9');
  expect((await open('nowhere')).hints).toEqual(['The site answered 404 Not Found.']);
  expect(await open('empty')).toMatchObject({ hints: ['The site answered 500 Internal Server Error.'], success: true });
});
