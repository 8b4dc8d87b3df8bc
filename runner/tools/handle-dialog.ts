import * as z from 'zod';
import { defineTool } from './define-tool.ts';
import { ANSWERS } from './playwright-form.ts';

const dialogArguments = z.object({ accept: z.boolean(), promptText: z.string().optional() });

export const handleDialog = defineTool({
  name: 'browser_handle_dialog',
  seconds: 30,
  effect: 'acts',
  whileTainted: 'exempt',
  shorter: null,
  playwright: {
    sets: ['playwright', 'core', 'compat', 'both'],
    title: 'Handle a dialog',
    description: 'Accept or dismiss the open dialog',
    args: {},
    unlisted: [],
    settles: ANSWERS,
    snapshotAfter: true,
    answersDialogs: true,
    // Playwright MCP knows the dialogs of the current tab alone.
    async run(args, call) {
      const parsed = dialogArguments.safeParse(args);
      if (!parsed.success) return call.ask(args);
      const { accept, promptText } = parsed.data;
      const answered = await call.answerElsewhere(dialog => (accept ? dialog.accept(promptText) : dialog.dismiss()));
      return answered ?? call.ask(args);
    },
  },
});
