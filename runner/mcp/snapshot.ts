import type { CallToolResult } from '@modelcontextprotocol/server';
import { type Conceal, cut } from '../tools/cut.ts';
import { textOf } from '../tools/result.ts';

export const SNAPSHOT_MS = 5_000;
/** A longer snapshot is cut: the agent may ask for a part of it. */
const SNAPSHOT_CHARACTERS_MAX = 60_000;
const CUT = '\n(cut; browser_find or browser_snapshot with target or depth shows the rest)';

/** The result with the snapshot's text, which upstream would write into a file on the runner's disk. */
export async function addSnapshot(
  result: CallToolResult,
  snapshot: CallToolResult,
  conceal: Conceal,
): Promise<CallToolResult> {
  const text = textOf(snapshot);
  if (snapshot.isError || !text) return result;
  const { content, truncated } = await cut(text, SNAPSHOT_CHARACTERS_MAX, conceal);
  const shown = truncated ? `${content}${CUT}` : content;
  return { ...result, content: [...withoutPage(result.content), { type: 'text', text: shown }] };
}

/** The snapshot repeats page and tabs. */
const withoutPage = (content: CallToolResult['content']): CallToolResult['content'] =>
  content.map(part =>
    part.type === 'text'
      ? { ...part, text: part.text.replace(/^### (Page|Open tabs)\n(?:(?!### ).*\n?)*/gm, '') }
      : part,
  );
