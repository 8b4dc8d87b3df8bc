import { defineCase, type Step } from '../case.ts';

export default defineCase({
  title: 'a frame that asks for a password by HTTP says so, and a site that asks for a token asks for no password',
  opens: false,
  steps: ({ url }) => {
    const go = (path: string, step: Omit<Step, 'tool'>): Step => ({
      ...step,
      tool: 'browser_navigate',
      args: { url: `${url}${path}` },
    });
    return [
      go('', { shows: [/Report/, /A frame of the page asks for a username and a password .*realm "Figures"/] }),
      go('token', { shows: /asks for authorization by HTTP \(Bearer, realm "api"\)/, hides: /NAME:PASSWORD/ }),
      go('both', { shows: [/asks for a username and a password by HTTP \(Basic, realm "Staff"\)/, /NAME:PASSWORD@/] }),
    ];
  },
});
