import { defineCase } from '../case.ts';

const select = (target: string, words: string, shows: RegExp | RegExp[]) => ({
  tool: 'browser_drag',
  args: { startTarget: target, endTarget: target, words },
  shows,
});

export default defineCase({
  title:
    'words of a text are selected by the mouse, across elements and lines, words of a field, and words beside a target',
  steps: () => [
    select('#text', 'quick brown', [/Selected: "quick brown"/, /Let go over: quick brown/]),
    select('#text', 'fox jumps over the lazy dog, and', /Selected: "fox jumps over the lazy dog, and"/),
    select('#field', 'customer', /Selected: "customer"/),
    select('#field', 'quick brown', /Selected: "quick brown"/),
    select('#text', 'purple', /does not show the words "purple"/),
  ],
});
