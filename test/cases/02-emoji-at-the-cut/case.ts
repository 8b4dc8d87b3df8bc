import { expect } from 'vitest';
import { defineCase, type Step } from '../case.ts';

const whole: Step['check'] = result => {
  expect(JSON.stringify(result)).not.toMatch(/\\ud[89a-f]|\ufffd/i);
};

export default defineCase({
  title: 'where an answer is cut, an emoji is there or not there, never half',
  steps: () =>
    [300, 301, 302, 303, 304, 305, 700, 1001].flatMap(tokensMax => [
      { tool: 'browser_snapshot', args: { tokensMax }, check: whole },
      { tool: 'browser_find', args: { text: '😀', tokensMax }, check: whole },
      { tool: 'browser_evaluate', args: { function: '() => document.body.innerText', tokensMax }, check: whole },
    ]),
});
