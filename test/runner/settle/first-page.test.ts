import { EventEmitter } from 'node:events';
import type { BrowserContext, Page, Request } from 'playwright-core';
import { expect, it } from 'vitest';
import { watchFirstPage } from '../../../runner/settle/first-page.ts';
import { steppedClock } from '../../fakes/clock.ts';

/** A context with one tab, whose documents are asked for, answered and loaded as the test says. */
function tab() {
  const context = new EventEmitter();
  const page = new EventEmitter();
  const main = { page: () => page };
  Object.assign(page, { mainFrame: () => main });
  const clock = steppedClock();
  const reported: number[] = [];
  const watch = watchFirstPage(context as unknown as BrowserContext, clock, ms => reported.push(ms));
  const ask = (frame: object = main) => {
    const request = { isNavigationRequest: () => true, frame: () => frame } as unknown as Request;
    context.emit('request', request);
    return { answer: () => context.emit('response', { request: () => request }) };
  };
  const load = () => page.emit('load', page as unknown as Page);
  return { ...watch, ask, load, clock, reported };
}

it('reports once, from the call until its page is loaded', () => {
  const { callStarted, ask, load, clock, reported } = tab();
  clock.advance(60_000); // the agent thinks
  callStarted();
  clock.advance(20);
  const document = ask();
  clock.advance(300);
  document.answer();
  clock.advance(80);
  load();
  expect(reported).toEqual([400]);
  callStarted();
  ask().answer();
  load();
  expect(reported).toEqual([400]);
});

it('counts a page that no server answered neither, nor tabs that were restored before the first call', () => {
  const { callStarted, ask, load, clock, reported } = tab();
  ask().answer();
  load();
  callStarted();
  ask();
  load(); // Chromium's own page about the failure
  expect(reported).toEqual([]);
  clock.advance(5_000);
  callStarted();
  clock.advance(100);
  ask().answer();
  load();
  expect(reported).toEqual([100]);
});

it('takes the document of a frame for no page', () => {
  const { callStarted, ask, load, reported } = tab();
  callStarted();
  const outer = { mainFrame: () => ({}) };
  ask({ page: () => outer }).answer();
  load();
  expect(reported).toEqual([]);
});
