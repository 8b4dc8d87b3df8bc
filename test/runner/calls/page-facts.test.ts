import { expect, test } from 'vitest';
import { pageFacts } from '../../../runner/calls/page-facts.ts';
import { documentOf, fakeTabs } from './fake-tabs.ts';
import { text } from './stage-call.ts';

test('a call leaves the page with its title, and the status of the document that came meanwhile', () => {
  const tabs = fakeTabs();
  const facts = pageFacts(tabs.context);
  facts.begin();
  tabs.emit('response', documentOf(tabs, 'https://shop.test/gone', 404).response);
  const url = 'https://shop.test/';
  expect(facts.of(tabs.page, text('### Page\n- Page Title: Not found\n'))).toEqual({
    ...{ url, title: 'Not found', status: 404 },
  });
  facts.begin();
  expect(facts.of(tabs.page, text('{"success":true,"title":"Shop"}'))).toEqual({ url, title: 'Shop' });
  expect(facts.of(tabs.page, text('{cut off'))).toEqual({ url });
});
