import { expect, test } from 'vitest';
import { REFUSAL_HEADER } from '../../../../contract/egress.ts';
import type { EgressRefusal } from '../../../../runner/browser/egress-forwarder.ts';
import { failedDocuments } from '../../../../runner/calls/notes/failed-documents.ts';
import { refusedDocuments } from '../../../../runner/calls/notes/refused-documents.ts';
import { documentOf, fakeTabs } from '../fake-tabs.ts';

const DOWN = 'https://down.test/page';

test('a tab with the error page of the browser has one note with the address and the reason', () => {
  const tabs = fakeTabs('chrome-error://chromewebdata/');
  const failed = failedDocuments(tabs.context);
  tabs.emit('requestfailed', documentOf(tabs, DOWN).request);
  expect(failed.take()).toEqual([`${DOWN} could not be loaded: net::ERR_CONNECTION_REFUSED`]);
  expect(failed.take()).toEqual([]);
});

test('a tab that shows a page again has no note', () => {
  const tabs = fakeTabs('https://shop.test/');
  const failed = failedDocuments(tabs.context);
  tabs.emit('requestfailed', documentOf(tabs, DOWN).request);
  expect(failed.take()).toEqual([]);
});

const refusal = (authority: string, atMs: number) => ({ authority, atMs }) as EgressRefusal;

test('a document that did not come is refused where the proxy refused its host since then', () => {
  const tabs = fakeTabs();
  const refusals = [refusal('down.test:443', 1), refusal('other.test:443', 9)];
  const documents = refusedDocuments(tabs.context, refusals);
  tabs.emit('requestfailed', documentOf(tabs, DOWN).request);
  expect(documents.of(tabs.page, 0)).toEqual(refusals[0]);
  expect(documents.of(tabs.page, 5)).toBeUndefined();
});

test('a plain page is refused by the header of the proxy together with its refusal, not by the header alone', () => {
  const tabs = fakeTabs();
  const refusals: EgressRefusal[] = [];
  const documents = refusedDocuments(tabs.context, refusals);
  const said = { [REFUSAL_HEADER]: 'policy' };
  tabs.emit('response', documentOf(tabs, 'http://down.test/', 403, said).response);
  expect(documents.of(tabs.page, 0)).toBeUndefined();
  refusals.push(refusal('down.test', 1));
  expect(documents.of(tabs.page, 0)).toEqual(refusals[0]);
  tabs.emit('response', documentOf(tabs, 'http://down.test/').response);
  expect(documents.of(tabs.page, 0)).toBeUndefined();
});
