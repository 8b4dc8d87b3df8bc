import { expect, test } from 'vitest';
import type { AriaNode } from '../../../runner/snapshot/aria-tree.ts';
import { changesSince, indexLines } from '../../../runner/snapshot/changes.ts';
import { concealOutline } from '../../../runner/snapshot/conceal.ts';
import { layout } from '../../../runner/snapshot/layout.ts';
import { outlineOf } from '../../../runner/snapshot/outline.ts';

const item = (ref: string, text: string): AriaNode => ({ role: 'listitem', ref, text });
const list = (...children: AriaNode[]): AriaNode[] => [{ role: 'list', ref: 'e1', children }];
const changes = (before: AriaNode[], now: AriaNode[]) => changesSince(indexLines(outlineOf(before)), outlineOf(now));
const text = (before: AriaNode[], now: AriaNode[]) => layout(changes(before, now).outline, { tokensMax: 1_000 });

test('equal pages have no changes', () => {
  const page = list(item('e2', 'Pear'), item('e3', 'Fig'));
  expect(changes(page, page)).toEqual({ outline: [], gone: [], share: 0 });
});

test('reports changes past the lines that are shown', () => {
  const many = (last: string) =>
    list(...Array.from({ length: 90 }, (_, n) => item(`e${n + 2}`, n === 80 ? last : `Item ${n}`)));
  expect(text(many('old'), many('new'))).toBe('- list\n - listitem: new');
});

test('the same elements in another order are shown in it', () => {
  const [pear, fig, apple] = [item('e2', 'Pear'), item('e3', 'Fig'), item('e4', 'Apple')];
  expect(text(list(pear, fig, apple), list(apple, fig, pear))).toMatch(/Apple.*Fig.*Pear/s);
});

test('one that went away is named, one that took its place is not', () => {
  const button = (ref: string, name: string): AriaNode => ({ role: 'button', ref, name });
  expect(changes(list(button('e2', 'Send'), item('e3', 'x')), list(item('e3', 'x'))).gone).toEqual([
    'button "Send" [ref=e2]',
  ]);
  expect(changes(list(button('e2', 'Open')), list(button('e9', 'Close')))).toMatchObject({ gone: [] });
});

test('a cell that changed is shown with its row', () => {
  const row = (state: string): AriaNode[] =>
    list({
      role: 'row',
      ref: 'e5',
      children: [
        { role: 'cell', ref: 'e6', name: 'Customer 3' },
        { role: 'cell', ref: `e-${state}`, name: state },
      ],
    });
  expect(text(row('Open'), row('Paid'))).toContain('row: Customer 3 | Paid');
});

test('a secret across lines is taken out before anything is compared', async () => {
  const page = outlineOf(list(item('e2', 'hunter'), item('e3', 'two'), item('e4', 'rest')));
  const conceal = async (given: string) => given.replace(/hunter\n.*two/, '<secret>SHOP_PASSWORD</secret>');
  const { outline, whole } = await concealOutline(page, conceal);
  expect(whole).toBe(false);
  expect(layout(outline, { tokensMax: 500 })).toMatch(/SHOP_PASSWORD.*rest/s);
  expect(layout(outline, { tokensMax: 500 })).not.toContain('hunter');
});

test('a card that goes from one box into the next is a change, though the order stays', () => {
  const card = (name: string, ref: string): AriaNode => ({ role: 'generic', ref, text: name });
  const box = (ref: string, ...children: AriaNode[]): AriaNode => ({ role: 'generic', ref, children });
  const [peel, stir, wash] = [card('Peel', 'e2'), card('Stir', 'e3'), card('Wash', 'e4')];
  const page = (...boxes: AriaNode[]) => list(...boxes);
  const before = page(box('e8', peel, stir), box('e9', wash));
  expect(text(before, page(box('e8', peel), box('e9', stir, wash)))).toMatch(/Peel.*Stir.*Wash/s);
  expect(changes(before, before).outline).toEqual([]);
  expect(changes(before, page(box('e8', peel, stir), box('e99', wash))).outline).toEqual([]);
});
