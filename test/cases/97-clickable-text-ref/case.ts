import { byRef } from '../by-ref.ts';
import { defineCase } from '../case.ts';

const { look, on } = byRef();
const hits = (text: string, logs: string) =>
  on(new RegExp(`generic(?=[^\\n]*${text})|"${text}"`), { tool: 'browser_click', logs });

export default defineCase({
  title: 'a short text that can be clicked has a ref that is itself',
  steps: () => [
    look(),
    hits('Show more', 'span'),
    hits('Reply', 'bold'),
    hits('Forgot\\?', 'u'),
    hits('Inner', 'inner'),
  ],
});
