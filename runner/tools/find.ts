import * as z from 'zod';
import { invalidArguments, textResult } from '../results/result.ts';
import { type Pattern, regexOf } from '../snapshot/find.ts';
import { defineTool } from './define-tool.ts';
import { NO_REGEX, patternResult } from './pattern-result.ts';

const findArguments = z.object({ text: z.string().min(1).optional(), regex: z.string().min(1).optional() });

export const find = defineTool({
  name: 'browser_find',
  seconds: 15,
  effect: 'reads',
  whileTainted: { closed: 'nothing is searched for' },
  shorter: 'a longer text has fewer matches',
  playwright: {
    sets: ['playwright', 'core', 'both'],
    title: 'Find in page snapshot',
    description: 'Find text in the snapshot: lines with refs and surroundings',
    args: { regex: 'e.g. /total: \\d+/i' },
    unlisted: [],
    settles: 'nothing',
    snapshotAfter: false,
    async run(args, call) {
      const pattern = patternOf(findArguments.safeParse(args).data);
      if (typeof pattern === 'string') return invalidArguments(pattern);
      // Playwright MCP would search on the runner's thread.
      return call.readOwn((writer, page, view, signal) =>
        patternResult(async () => textResult(await writer.find(page, pattern, view, signal))),
      );
    },
  },
});

/** The pattern to look for, or what is wrong with the arguments. */
function patternOf(args: z.infer<typeof findArguments> | undefined): Pattern | string {
  const { text, regex } = args ?? {};
  if ((text === undefined) === (regex === undefined))
    return 'Give either "text" or "regex", as a string that is not empty.';
  return text !== undefined ? { text } : (regexOf(regex ?? '') ?? NO_REGEX);
}
