import { expect } from 'vitest';
import { textOf } from '../../../runner/results/result.ts';
import { byRef } from '../by-ref.ts';
import { defineCase, reads } from '../case.ts';

const { look, on } = byRef();

export default defineCase({
  title: 'an editor that is only contenteditable is a field with a ref',
  steps: () => [
    look({
      shows: /\[placeholder=Write something\]/,
      check: result => expect(textOf(result).match(/textbox[^\n|]*\[ref=/g)).toHaveLength(5),
    }),
    on(/textbox[^\n]*placeholder/, { tool: 'browser_type', args: { text: 'Dear all' } }),
    reads('document.getElementById("b").innerText', /Dear all/),
  ],
});
