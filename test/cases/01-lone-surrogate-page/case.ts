import { expect } from 'vitest';
import { defineCase, opens, reads, type Step } from '../case.ts';

const whole: Step['check'] = result => {
  const answer = JSON.stringify(result);
  expect(answer.isWellFormed()).toBe(true);
  expect(answer).not.toMatch(/\\ud[89a-f]/i);
};

export default defineCase({
  title: 'no answer has half of a surrogate pair',
  steps: at => [
    { ...opens(at), check: whole, shows: /Half \ufffd here/ },
    { tool: 'browser_snapshot', check: whole, shows: [/tail \ufffd/, /Go \ufffd/] },
    { ...reads('document.querySelector("p").textContent', /tail \ufffd/), check: whole },
    { tool: 'browser_find', args: { text: 'Half' }, check: whole },
    { tool: 'browser_console_messages', check: whole, shows: /log \ufffd/ },
    { tool: 'browser_get_content', args: { format: 'text' }, check: whole },
  ],
});
