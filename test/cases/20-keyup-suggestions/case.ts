import { defineCase, reads } from '../case.ts';

// demarche-numerique/demarche.numerique.gouv.fr#11929
export default defineCase({
  title: 'suggestions of a field that waits for keys come after a text',
  steps: () => [
    { tool: 'browser_type', args: { target: 'ref of textbox "City"', text: 'Par' }, shows: /Paris \(75\)/ },
    { tool: 'browser_type', args: { target: '#c', text: '' } },
    reads('l.textContent', /""/),
    {
      tool: 'browser_fill_form',
      args: { fields: [{ name: 'City', target: '#c', type: 'textbox', value: 'Par' }] },
      shows: /Paris \(75\)/,
    },
  ],
});
