import { defineCase } from '../case.ts';

export default defineCase({
  title: 'a dialog that comes once its backdrop has faded in is in the answer to the click',
  steps: () => [{ tool: 'browser_click', args: { target: '#open' }, shows: /textbox "Email"/ }],
});
