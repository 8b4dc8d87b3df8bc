import { expect, test } from 'vitest';
import { estimateTokens } from '../../../runner/budget/estimate.ts';
import type { AriaNode } from '../../../runner/snapshot/aria-tree.ts';
import { layout } from '../../../runner/snapshot/layout.ts';
import { outlineOf } from '../../../runner/snapshot/outline.ts';

const numbered = (count: number, of: (n: number) => AriaNode): AriaNode[] =>
  Array.from({ length: count }, (_, n) => of(n + 1));
const button = (name: string, ref: string): AriaNode => ({ role: 'button', name, ref });
const row = (n: number): AriaNode => ({ role: 'row', ref: `e${n}`, children: [{ role: 'cell', name: `Thing ${n}` }] });
const calendar: AriaNode[] = [
  { role: 'generic', ref: 'e100', children: numbered(31, n => button(String(n), `e${n + 200}`)) },
  { role: 'generic', ref: 'e101', children: [button('Cancel', 'e300'), button('Apply', 'e301')] },
];
const numberOf = (text: string) => Number(/browser_snapshot from (\d+)/.exec(text)?.[1]);

test('a page that fits is shown whole', () => {
  const text = layout(outlineOf(numbered(60, row)), { tokensMax: 2_000, isNumbered: true });
  expect(text.split('\n')).toHaveLength(60);
});

test('buttons of another group are no part of a run of days', () => {
  const table: AriaNode = { role: 'table', children: numbered(300, row) };
  const text = layout(outlineOf([table, ...calendar]), { tokensMax: 500 });
  expect(text).toContain('more of row');
  expect(text).toMatch(/button "Cancel" \[ref=e300\]\n- button "Apply" \[ref=e301\]$/);
});

test('rows are left out before links of a navigation', () => {
  const links = numbered(20, n => ({ role: 'link', name: `Topic ${n}`, ref: `e${n}` }));
  const page: AriaNode[] = [
    { role: 'navigation', children: links },
    { role: 'table', children: numbered(300, row) },
  ];
  expect(layout(outlineOf(page), { tokensMax: 600 })).toMatch(/Topic 20.*more of row/s);
});

test('rows that hold nothing to act on are left out before those that do', () => {
  const links = numbered(40, n => ({
    role: 'listitem',
    children: [{ role: 'link', name: `Topic ${n}`, ref: `e${n}` }],
  }));
  const page: AriaNode[] = [
    { role: 'table', children: numbered(300, row) },
    { role: 'list', children: links },
  ];
  const text = layout(outlineOf(page), { tokensMax: 800 });
  expect(text).toMatch(/more of row.*Topic 40/s);
  expect(text).not.toContain('more of listitem');
});

test('rows with controls take the room if not all of them fit', () => {
  const links = numbered(120, n => ({ role: 'link', name: `Topic ${n}`, ref: `e${n}`, url: '#' }));
  const page: AriaNode[] = [
    { role: 'table', children: numbered(300, row) },
    { role: 'list', children: links },
  ];
  const lines = layout(outlineOf(page), { tokensMax: 1_000 }).split('\n');
  const topics = lines.filter(line => line.includes('link'));
  expect(topics.length).toBeGreaterThan(4 * lines.filter(line => line.includes('Thing')).length);
  // An address that leads nowhere is not written.
  expect(topics[0]).toMatch(/\]$/);
});

test('a larger budget shows more rows', () => {
  const page = outlineOf(numbered(3_000, row));
  const shown = (tokensMax: number) => layout(page, { tokensMax }).split('\n').length;
  expect(shown(9_000)).toBeGreaterThan(2 * shown(4_000));
});

test('reading on from each cut gives every line once', () => {
  const page = outlineOf(numbered(400, n => ({ role: 'paragraph', text: `Night ${n} was calm and long.` })));
  const read: string[] = [];
  let text = layout(page, { tokensMax: 700, isNumbered: true });
  for (let turns = 0; turns < 40; turns += 1) {
    expect(estimateTokens(text)).toBeLessThanOrEqual(800);
    read.push(...text.split('\n').filter(line => line.includes('Night')));
    if (Number.isNaN(numberOf(text))) break;
    text = layout(page, { tokensMax: 700, isNumbered: true, from: numberOf(text) });
  }
  expect(read).toEqual(page.map(({ line }) => `- ${line}`));
});

test('rows that were left out are read on, below what they lie in', () => {
  const page = outlineOf([{ role: 'table', name: 'Orders', children: numbered(300, row) }]);
  const from = numberOf(layout(page, { tokensMax: 500, isNumbered: true }));
  expect(layout(page, { tokensMax: 500, isNumbered: true, from })).toMatch(
    /^- table "Orders"\n - row: Thing 13\n - row: Thing 14\n/,
  );
});

test('a sentence with links and words that act is one line', () => {
  const link: AriaNode = { role: 'link', name: 'guide', ref: 'e2', url: '/guide' };
  const word: AriaNode = { role: 'generic', text: 'cranes', ref: 'e3', acts: true };
  const page = outlineOf([{ role: 'paragraph', children: ['Read the', link, 'on', word, 'first.'] }]);
  expect(layout(page, { tokensMax: 500 })).toBe(
    '- paragraph: Read the link "guide" [ref=e2] </guide> on "cranes" [ref=e3] first.',
  );
});

test('the button of each of several like boxes is shown with the texts of its box', () => {
  const box = (name: string, ref: string): AriaNode => ({
    role: 'generic',
    ref: `e5${ref}`,
    children: [button('Order', ref), { role: 'generic', text: name }],
  });
  expect(layout(outlineOf([box('Peas', 'e1'), box('Beets', 'e2')]), { tokensMax: 500 })).toBe(
    '- group\n - button "Order" [ref=e1]\n - text: Peas\n- group\n - button "Order" [ref=e2]\n - text: Beets',
  );
});

test('shows as many rows as fit of a list that nearly fits, and a few of one that never will', () => {
  const rowsOf = (count: number) =>
    layout(outlineOf([{ role: 'table', children: numbered(count, row) }]), { tokensMax: 500 }).split('\n').length;
  expect(rowsOf(80)).toBeGreaterThan(40);
  expect(rowsOf(3_000)).toBe(14);
});

test('the button below a long text is shown, and the text as far as it goes', () => {
  const terms = numbered(200, n => ({ role: 'paragraph', text: `Clause ${n} binds you and all of your heirs.` }));
  const text = layout(outlineOf([...terms, button('Accept', 'e1')]), { tokensMax: 600, isNumbered: true });
  expect(estimateTokens(text)).toBeLessThanOrEqual(600);
  expect(text).toMatch(/Clause 20 binds.*\n\(cut: \d+ more lines, .*\n- button "Accept" \[ref=e1\]$/s);
  const from = numberOf(text);
  expect(layout(outlineOf(terms), { tokensMax: 600, isNumbered: true, from })).toContain(`Clause ${from} binds`);
});

test('headings and what lies around a button stay where texts are left out', () => {
  const part = (n: number): AriaNode => ({
    role: 'region',
    name: `Part ${n}`,
    children: [
      { role: 'heading', name: `Chapter ${n}`, level: 2 },
      ...numbered(20, line => ({ role: 'paragraph', text: `Verse ${line} of this chapter is a long one.` })),
      button('Next', `e${n}`),
    ],
  });
  const text = layout(outlineOf(numbered(5, part)), { tokensMax: 700, isNumbered: true });
  expect(text).toMatch(/- region "Part 5"\n - heading "Chapter 5" \[level=2\]\n \(cut: 20 lines; .*\n - button "Next"/);
});

test('an item of a list that is one link takes one line', () => {
  const item: AriaNode = { role: 'listitem', children: [{ role: 'link', name: 'Home', ref: 'e1', url: '/' }] };
  expect(layout(outlineOf([{ role: 'list', children: [item, item] }]), { tokensMax: 500 })).toBe(
    '- list\n - link "Home" [ref=e1] /\n - link "Home" [ref=e1] /',
  );
});
