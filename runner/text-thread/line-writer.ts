import { findInOutline } from '../snapshot/find.ts';
import { layout } from '../snapshot/layout.ts';
import { charactersIn, charactersOf, outlineOf } from '../snapshot/outline.ts';
import type { LineWriter } from '../snapshot/writer.ts';
import { SHORT_CHARACTERS } from './long-texts.ts';
import type { TextThread } from './text-thread.ts';

/** Patterns, and the lines of long pages, are worked on in the thread. */
export const lineWriter = (thread: TextThread): LineWriter => ({
  outlineOf: async (tree, options) =>
    charactersIn(tree) <= SHORT_CHARACTERS ? outlineOf(tree, options) : thread.run('outline', { tree, options }),
  find: async (outline, pattern, tokensMax) =>
    'text' in pattern && charactersOf(outline) <= SHORT_CHARACTERS
      ? findInOutline(outline, pattern, tokensMax)
      : thread.run('find', { outline, pattern, tokensMax }),
  layout: async (outline, options) =>
    charactersOf(outline) <= SHORT_CHARACTERS ? layout(outline, options) : thread.run('layout', { outline, options }),
});
