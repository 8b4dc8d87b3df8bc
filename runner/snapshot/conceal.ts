import type { Conceal } from '../budget/cut.ts';
import type { Outline } from './outline.ts';

/**
 * The same lines without secrets, which are looked for in the whole text: one may lie across several lines. Then its lines
 * are one, and how they lay in each other is not known any more: `whole` is false.
 */
export async function concealOutline(
  outline: readonly Outline[],
  conceal: Conceal,
): Promise<{ outline: readonly Outline[]; whole: boolean }> {
  const given = linesIn(outline, 0);
  const text = given.join('\n');
  const safe = await conceal(text);
  if (safe === text) return { outline, whole: true };
  const lines = safe.split('\n').map(line => line.replace(/^ *- /, ''));
  if (lines.length !== given.length)
    return { outline: lines.map(line => ({ role: 'text', line, ref: undefined, children: [] })), whole: false };
  let next = 0;
  const replaced = (all: readonly Outline[]): Outline[] =>
    all.map(each => ({ ...each, line: lines[next++] ?? '', children: replaced(each.children) }));
  return { outline: replaced(outline), whole: true };
}

const linesIn = (outline: readonly Outline[], depth: number): string[] =>
  outline.flatMap(({ line, children }) => [`${'  '.repeat(depth)}- ${line}`, ...linesIn(children, depth + 1)]);
