import { byRef } from '../by-ref.ts';
import { defineCase } from '../case.ts';

const { look, on } = byRef();

export default defineCase({
  title: 'what a closed shadow root shows has refs, and works',
  steps: () => [
    look({ shows: [/textbox "Topic"/, /button "Send request"/] }),
    on(/textbox "Topic"/, { tool: 'browser_type', args: { text: 'Gates' } }),
    look({ shows: /textbox "Topic"[^\n]*: Gates/ }),
    on(/button "Send request"/, { tool: 'browser_click', logs: 'sent Gates' }),
  ],
});
