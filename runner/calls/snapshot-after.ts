import type { CallToolResult } from '@modelcontextprotocol/server';
import { recoverPages } from '../browser/recover-page.ts';
import { playwrightSnapshot } from '../upstream/requests.ts';
import { addSnapshot } from '../upstream/snapshot.ts';
import type { BrowserParts } from './browser-work.ts';

/** The result with a snapshot of the page as it is now, where the call wants one and one can be taken. */
export async function addSnapshotAfter(
  parts: BrowserParts,
  result: CallToolResult,
  signal: AbortSignal,
): Promise<CallToolResult> {
  const { guard, connection, writer } = parts;
  const view = parts.view();
  if (result.isError || view.snapshot === 'none') return result;
  const taken = async () => {
    const page = await parts.current().catch(() => undefined);
    const held = page && (await guard.dialogs.holding(page));
    // The notes report a dialog in another tab.
    if (held !== undefined && held.page !== page) return result;
    // Behind a dialog no page answers; Playwright MCP reports the dialog.
    const isOurs = view.snapshot !== 'playwright' && page !== undefined && !guard.showsDialog(page);
    const snapshot = isOurs ? await writer.after(page, view, signal) : await playwrightSnapshot(connection, signal);
    return addSnapshot(result, snapshot);
  };
  return readRecovering(parts, taken, result);
}

/**
 * Reads the page, once more after all that blocks it was stopped; else answers `otherwise`, or rejects. The result says what was done
 * about the page.
 */
export async function readRecovering(
  { context, guard }: Pick<BrowserParts, 'context' | 'guard'>,
  read: () => Promise<CallToolResult>,
  otherwise?: CallToolResult,
): Promise<CallToolResult> {
  try {
    return await read();
  } catch {
    const notes = await recoverPages(context, guard);
    const result = await read().catch((error: unknown) => {
      if (otherwise === undefined) throw error;
      return otherwise;
    });
    return { ...result, content: [...result.content, ...notes.map(text => ({ type: 'text' as const, text }))] };
  }
}
