import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { startTaskSite, type TaskSite } from '../site/task-site.ts';
import { tokensOf } from '../tokens/tokens.ts';
import { callText } from './start.ts';
import { type LeasedRunner, startLease } from './start-lease.ts';

/** An agent that decides by nothing but what results show. */
let site: TaskSite;
let lease: LeasedRunner;
let seen = '';
beforeAll(async () => {
  site = await startTaskSite();
  lease = await startLease();
});
afterAll(async () => {
  await lease[Symbol.asyncDispose]();
  site.close();
});
beforeEach(async () => {
  await call('browser_close');
});

async function call(name: string, args: Record<string, unknown> = {}): Promise<string> {
  seen = await callText(lease.client, name, args);
  expect(tokensOf(seen)).toBeLessThanOrEqual(4_000);
  return seen;
}

const open = (page: string) => call('browser_navigate', { url: `${site.url}/${page}` });
/** The ref behind this text, in what was seen last. */
function refOf(text: string, answer = seen): string {
  const escaped = text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const ref = new RegExp(`${escaped}[^\\n|]*?\\[ref=((?:f\\d+)?e\\d+)\\]`).exec(answer)?.[1];
  if (ref === undefined) throw new Error(`there is no ref for ${text} in ${answer}`);
  return ref;
}
const click = (text: string) => call('browser_click', { target: refOf(text) });

test('finds row 321 of 400 and edits it', async () => {
  expect(await open('table')).toMatch(/\(\d+ more of row; browser_snapshot from \d+ or browser_find shows them\)/);
  expect(seen).not.toContain('Customer 321');
  const found = await call('browser_find', { text: 'Customer 321' });
  expect(found).toContain('Found 1 match');
  expect(await call('browser_click', { target: refOf('button "Edit"', found) })).toContain('Done: edited 321');
});

test('reads as many rows as it asks for', async () => {
  await open('table');
  const found = await call('browser_find', { regex: '/row|table/' });
  const table = refOf('table', found.replaceAll('in ', ''));
  const part = await call('browser_snapshot', { target: table, tokensMax: 3_000 });
  expect(part).toContain('Customer 40');
  expect(part).toMatch(/\(cut: \d+ more lines, about \d+ tokens; browser_find searches them/);
});

test('clicks the third "Edit", by the heading over it', async () => {
  const [, gamma = ''] = (await open('edits')).split('heading "Gamma"');
  expect(await call('browser_click', { target: refOf('button "Edit"', gamma) })).toContain('Done: edited Gamma');
});

test('chooses an option that the snapshot does not list', async () => {
  await open('select');
  expect(seen).toContain('(48 more)');
  const found = await call('browser_find', { text: 'Country 47' });
  expect(found).toContain('Country 47');
  await open('select');
  const chosen = await call('browser_select_option', { target: refOf('combobox "Country"'), values: ['Country 47'] });
  expect(chosen).toContain('Done: chose Country 47');
});

test('fills 20 fields and sends them', async () => {
  await open('fields');
  const fields = Array.from({ length: 20 }, (_, index) => ({
    name: `Answer ${index + 1}`,
    type: 'textbox',
    target: refOf(`textbox "Answer ${index + 1}"`),
    value: `value ${index + 1}`,
  }));
  const filled = await call('browser_fill_form', { fields });
  expect(filled).toContain(': value 20');
  await call('browser_snapshot');
  expect(await click('button "Send"')).toContain('Done: value 1,value 2,');
});

test('follows a price that changes past what is shown', async () => {
  expect(await open('price')).not.toContain('Item 33');
  const changed = await click('button "Refresh"');
  expect(changed).toMatch(/changes since snapshot \d+/);
  expect(changed).toContain('7 EUR');
  expect(changed).toContain('Item 33');
  expect(changed).not.toContain('Item 32');
});

test('sees that a list was sorted', async () => {
  await open('sort');
  expect(await click('button "Sort"')).toMatch(/Apple.*Fig.*Pear/s);
});

test('pages through results', async () => {
  await open('pages');
  for (let page = 1; !seen.includes('Result 17') && page < 9; page += 1) {
    if (!seen.includes('button "Next page"')) await call('browser_snapshot');
    await click('button "Next page"');
  }
  expect(seen).toContain('Result 17');
});

test('goes through nested menus', async () => {
  await open('menu');
  expect(seen).not.toContain('As PDF');
  await click('button "File"');
  await click('menuitem "Export"');
  expect(await click('menuitem "As PDF"')).toContain('Done: as PDF');
});

test('acts in a frame', async () => {
  await open('frames');
  expect(await click('button "Inside"')).toContain('Done: in frame');
});

test('acts in a shadow root', async () => {
  await open('shadow');
  expect(await click('button "Deep"')).toContain('Done: in shadow');
});

test('answers a dialog, and sees the whole page after it', async () => {
  await open('dialog');
  expect(await click('button "Delete"')).toContain('Delete it?');
  const answered = await call('browser_handle_dialog', { accept: true });
  expect(answered).toContain('Done: deleted');
  expect(answered).toContain('button "Delete"');
  expect(answered).not.toContain('changes since');
});

test('opens and closes a box of the page', async () => {
  await open('modal');
  await click('button "Open box"');
  expect(seen).toContain('Are you sure?');
  const closed = await click('button "Close box"');
  expect(closed).toContain('Done: closed');
  expect(closed).toMatch(/Gone: .*dialog/);
});

test('finds a tab that a link opened, and acts in it', async () => {
  await open('tabs');
  const opened = await click('link "Open the second"');
  const index = /- (\d+): .*\/second/.exec(opened)?.[1];
  expect(index).toBeDefined();
  await call('browser_tabs', { action: 'select', index: Number(index) });
  await call('browser_snapshot');
  expect(seen).toContain('Second page');
  expect(await click('button "Finish"')).toContain('Done: on the second');
});

test('ticks a box and picks a radio button', async () => {
  await open('check');
  expect(await click('checkbox "I agree"')).toContain('Done: agreed');
  await call('browser_snapshot');
  expect(seen).toMatch(/checkbox "I agree"[^\n]*\[checked\]/);
  expect(await click('radio "Large"')).toContain('Done: large');
});

test('types and reads what the page answers', async () => {
  await open('search');
  const typed = await call('browser_type', { target: refOf('textbox "Search"'), text: 'abcde' });
  expect(typed).toContain('Found 5 letters');
});

test('clicks a card that only its pointer gives away', async () => {
  await open('clickable');
  const card = /\[ref=(\w+)\]: A card/.exec(seen)?.[1];
  expect(await call('browser_click', { target: card })).toContain('Done: card');
});

test('finds the ref of a text that no sign shows to be clickable', async () => {
  await open('plain');
  const found = await call('browser_find', { text: 'can be clicked' });
  expect(await call('browser_click', { target: refOf('generic', found) })).toContain('Done: plain');
});

test('opens what is folded', async () => {
  await open('details');
  expect(seen).not.toContain('Hidden one');
  await click('"More"');
  expect(await click('button "Hidden one"')).toContain('Done: detail');
});

test('carries a code from one place to another', async () => {
  await open('toast');
  const code = /Code (\d{4})/.exec(await click('button "Ask"'))?.[1];
  await call('browser_snapshot');
  await call('browser_type', { target: refOf('textbox "Code"'), text: String(code), submit: true });
  expect(seen).toContain('Done: code 4711');
});

test('sees the whole of a page that came without being loaded', async () => {
  await open('route');
  const routed = await click('link "List"');
  expect(routed).toContain('The list');
  expect(routed).not.toContain('changes since');
  expect(await click('button "Take"')).toContain('Done: routed');
});

test('picks a day of a calendar that only its cells give away', async () => {
  expect(await open('grid')).toContain('row: 4 [selected] | 5 [disabled] | 6');
  expect(await call('browser_click', { target: refOf('Pick me') })).toContain('Done: a cell');
  const found = await call('browser_find', { text: '6' });
  expect(found).toContain('Found 1 match');
  expect(await call('browser_click', { target: refOf('| 6', found) })).toContain('Done: chose the 6th');
});

test.each(['drawn', 'drawn-in-a-frame'])('ticks boxes that the page draws itself: %s', async page => {
  await open(page);
  await click('radio "Express"');
  expect(await call('browser_snapshot')).toMatch(/radio "Express"[^\n]*\[checked\]/);
  const fields = [{ name: 'speed', type: 'radio', target: refOf('radio "Standard"'), value: 'true' }];
  await call('browser_fill_form', { fields });
  expect(await call('browser_snapshot')).toContain('Done: standard');
  // Not the link that is in the middle of its label.
  await click('checkbox "I agree');
  expect(await call('browser_snapshot')).toContain('Done: terms true');
  await click('checkbox "Send me');
  expect(await call('browser_snapshot')).toContain('Done: letter true');
});

test('hears of a file chooser, which is in the way of nothing', async () => {
  await open('chooser');
  expect(await click('button "Choose a file"')).toContain('A file chooser is open');
  expect(await call('browser_snapshot')).toContain('button "Another"');
  expect(await click('button "Another"')).toContain('Done: another');
  await call('browser_snapshot');
  await click('button "Choose a file"');
  expect(await open('second')).toContain('Second page');
  expect(await click('button "Finish"')).toContain('Done: on the second');
});

test('hears of a window that looks like one that it closed', async () => {
  await open('popup');
  for (let n = 0; n < 2; n += 1) {
    expect(await call('browser_click', { target: '#go' })).toMatch(/### Open tabs.*- 1: .*\/second/s);
    await call('browser_tabs', { action: 'close', index: 1 });
  }
});

test('hears why a link led nowhere', async () => {
  await open('dead');
  expect(await click('link "Dead"')).toContain('http://127.0.0.1:1/ could not be loaded. ');
  expect(await call('browser_snapshot')).not.toContain('could not be loaded');
});

test('saves by a form that the site answers without a document', async () => {
  await open('saves');
  expect(await click('button "Save"')).not.toContain('Timeout');
  await call('browser_snapshot');
  expect(await click('button "After"')).toContain('Done: after saving');
});

test('opens a picture that is no HTML', async () => {
  expect(await open('picture')).toMatch(/### Snapshot \d+/);
  expect(await call('browser_snapshot')).toContain('/picture');
});

test('downloads from links that open tabs, which do not stay', async () => {
  await open('invoices');
  await click('link "Invoice"');
  await eventually('the tab is closed', async () => !(await call('browser_tabs', { action: 'list' })).includes('- 1:'));
  await eventually('the file is kept', async () => (await call('browser_file_list')).includes('"bytes":5'));
});

test('types key by key in place of what a field holds', async () => {
  await open('prefilled');
  const typed = await call('browser_type', { target: refOf('textbox "Name"'), text: 'Bo', slowly: true });
  expect(typed).toContain('Done: is Bo');
});

test('works on a page of more than 10,000 elements by searching it', async () => {
  expect(await open('huge')).toContain('too many for a snapshot after each call');
  const found = await call('browser_find', { text: 'Go' });
  expect(await call('browser_click', { target: refOf('button "Go"', found) })).not.toContain('Error');
  expect(await call('browser_find', { text: 'Done: big' })).toContain('Done: big');
});

test('reads one text that is longer than an answer from its beginning, and finds what is in the middle of it', async () => {
  const read = await open('log');
  expect(read).toContain('{"line": 40, ');
  expect(read).toMatch(/\(\d+ more of line; browser_snapshot from \d+ or browser_find shows them\)/);
  const found = await call('browser_find', { text: 'FAILED at' });
  expect(found).toContain('Found 1 match');
  expect(found).toMatch(/"line": 1500, "state": "failed at the gate"\},\n - \| \{"line": 1501/);
  expect(await call('browser_find', { regex: '"line": 1(234|900)' })).toMatch(
    /Found 2 matches.*"line": 1234.*"line": 1900/s,
  );
});

test('asks for the whole page where it has not seen what the changes refer to', async () => {
  await open('edits');
  const [, gamma = ''] = seen.split('heading "Gamma"');
  const changed = await call('browser_click', { target: refOf('button "Edit"', gamma) });
  expect(changed).not.toContain('Alpha');
  expect(await call('browser_snapshot')).toContain('Alpha');
  expect(await call('browser_click', { target: refOf('button "Edit"'), snapshot: 'full' })).toContain('heading "Beta"');
});

test('gets the snapshots of Playwright MCP where it asks for them', async () => {
  expect(await call('browser_navigate', { url: `${site.url}/edits`, snapshot: 'playwright' })).toContain('```yaml');
});
