import type { CallToolResult } from '@modelcontextprotocol/server';
import { textOf } from '../results/result.ts';
import { SNAPSHOT_MS } from '../snapshot/view.ts';
import type { PlaywrightConnection } from './connection.ts';

// Calls of Playwright MCP that the runner makes itself.

type Connection = Pick<PlaywrightConnection, 'request'>;

const DIALOG_MS = 2_000;
const SELECT_MS = 45_000;

/** Playwright MCP's own snapshot of its current tab; empty where it takes none. */
export async function playwrightSnapshot(connection: Connection, signal: AbortSignal): Promise<string> {
  const taken = await connection.request('browser_snapshot', {}, SNAPSHOT_MS, signal);
  return taken.isError ? '' : textOf(taken);
}

/** Answers the dialog of the current tab. Rejects where the tab does not go on in time. */
export const answerDialog = (connection: Connection, accept: boolean, signal: AbortSignal): Promise<CallToolResult> =>
  connection.request('browser_handle_dialog', { accept }, DIALOG_MS, signal);

/** Makes tools act on the tab at this index. */
export const selectTab = (connection: Connection, index: number, signal: AbortSignal): Promise<CallToolResult> =>
  connection.request('browser_tabs', { action: 'select', index }, SELECT_MS, signal);
