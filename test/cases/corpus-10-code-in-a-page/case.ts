import { defineCase } from '../case.ts';

export default defineCase({
  title: 'a block of code keeps its lines and indents',
  steps: () => [
    {
      tool: 'browser_snapshot',
      shows: /\| for jar in shelf:\n - \| {5}if jar\.full:\n - \| {9}total \+= 1\n - \| {5}jar\.shake/,
    },
  ],
});
