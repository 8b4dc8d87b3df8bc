import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { livePopups } from '../../../runner/live/popups.ts';
import { steppedClock } from '../../fakes/clock.ts';

const TAB = {} as Page; // it is compared, and nothing else
const OTHER = {} as Page;

function view() {
  const clock = steppedClock();
  const state = { isOpen: false, shots: 0 };
  const popups = livePopups({
    hasPopup: async () => state.isOpen,
    shoot: async () => {
      state.shots += 1;
    },
    clock,
  });
  const pass = async (ms: number) => {
    clock.advance(ms);
    await new Promise(setImmediate);
  };
  return { popups, state, pass };
}

test('while the focus is in a select, screenshots stand in for the pictures of the screencast, and one more after it', async () => {
  const { popups, state, pass } = view();
  popups.acted(TAB);
  await pass(200);
  expect([state.shots, popups.replaces(TAB)]).toEqual([0, false]);

  state.isOpen = true;
  popups.acted(TAB);
  popups.acted(TAB);
  await pass(200);
  expect(state.shots).toBe(1);
  expect(popups.replaces(TAB)).toBe(true);
  expect(popups.replaces(OTHER)).toBe(false);

  state.isOpen = false;
  popups.acted(TAB);
  await pass(200);
  expect([state.shots, popups.replaces(TAB)]).toEqual([2, false]);
});

test('the picture that a screenshot causes leads to no other screenshot; a page that changes by itself does', async () => {
  const { popups, state, pass } = view();
  state.isOpen = true;
  popups.acted(TAB);
  await pass(200);
  expect(popups.replaces(TAB)).toBe(true);
  await pass(200);
  expect(state.shots).toBe(1);
  await pass(1_000);
  expect(popups.replaces(TAB)).toBe(true);
  await pass(200);
  expect(state.shots).toBe(2);
});

test('the screencast is shown again when control goes back', async () => {
  const { popups, state, pass } = view();
  state.isOpen = true;
  popups.acted(TAB);
  await pass(200);
  popups.end();
  expect(popups.replaces(TAB)).toBe(false);
  popups.close();
  popups.acted(TAB);
  await pass(200);
  expect(state.shots).toBe(1);
});
