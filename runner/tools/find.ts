import * as z from 'zod';
import { invalidArguments, textResult } from '../results/result.ts';
import type { SnapshotWriter } from '../snapshot/writer.ts';
import { defineTool } from './define-tool.ts';
import { byWriter } from './playwright-form.ts';

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
    description: 'Find text in the snapshot: matching lines, with refs and surroundings',
    args: { regex: 'e.g. /total: \\d+/i' },
    unlisted: [],
    settles: 'nothing',
    snapshotAfter: false,
    run: byWriter(args => {
      const { data } = findArguments.safeParse(args);
      // With both or none, Playwright MCP says what is wrong.
      if (data === undefined || (data.text === undefined) === (data.regex === undefined)) return undefined;
      return async (writer, page, view, signal) => {
        const pattern = patternOf(data);
        return pattern === undefined
          ? invalidArguments(`"${data.regex}" is not a regular expression.`)
          : textResult(await writer.find(page, pattern, view, signal));
      };
    }),
  },
});

/** The pattern to look for: a text in any case, a pattern as it is, or one with flags between slashes. */
function patternOf({ text, regex = '' }: z.infer<typeof findArguments>): Pattern | undefined {
  if (text !== undefined) {
    const lower = text.toLowerCase();
    return { name: `"${text}"`, at: line => line.toLowerCase().indexOf(lower) };
  }
  try {
    const [, source, flags] = /^\/(.+)\/([a-z]*)$/s.exec(regex) ?? [];
    const compiled = new RegExp(source ?? regex, (flags ?? '').replace(/[gy]/g, ''));
    return { name: String(compiled), at: line => line.search(compiled) };
  } catch {
    return undefined;
  }
}

type Pattern = Parameters<SnapshotWriter['find']>[1];
