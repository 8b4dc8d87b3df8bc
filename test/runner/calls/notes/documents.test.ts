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
  expect(failed.take()).toEqual([
    `${DOWN} could not be loaded. Nothing answers at this host and port. (ERR_CONNECTION_REFUSED) The site cannot be reached from here: check the port.`,
  ]);
  expect(failed.take()).toEqual([]);
});

test('a tab that shows a page again has no note', () => {
  const tabs = fakeTabs('https://shop.test/');
  const failed = failedDocuments(tabs.context);
  tabs.emit('requestfailed', documentOf(tabs, DOWN).request);
  expect(failed.take()).toEqual([]);
});

test('a failed navigation has a note only on the address that another one led to', () => {
  const tabs = fakeTabs('chrome-error://chromewebdata/');
  const failed = failedDocuments(tabs.context);
  const { request } = documentOf(tabs, DOWN);
  tabs.emit('requestfailed', request);
  expect(failed.take(true)).toEqual([]);
  tabs.emit('requestfailed', Object.assign(request, { redirectedFrom: () => documentOf(tabs, DOWN).request }));
  expect(failed.take(true)).toEqual([
    `${DOWN} could not be loaded. Nothing answers at this host and port. (ERR_CONNECTION_REFUSED) The site cannot be reached from here: check the port.`,
  ]);
});

test('a new tab that shows the error page has a note, though its frame is known later than its failure', () => {
  const tabs = fakeTabs('chrome-error://chromewebdata/');
  const failed = failedDocuments(tabs.context);
  const { request } = documentOf(tabs, DOWN);
  let isKnown = false;
  const frame = () => {
    if (!isKnown) throw new Error('Frame for this navigation request is not available');
    return tabs.page.mainFrame();
  };
  tabs.emit('requestfailed', Object.assign(request, { frame }));
  isKnown = true;
  expect(failed.take()).toEqual([
    `${DOWN} could not be loaded. Nothing answers at this host and port. (ERR_CONNECTION_REFUSED) The site cannot be reached from here: check the port.`,
  ]);
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
