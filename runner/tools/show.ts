import type { CallToolResult } from '@modelcontextprotocol/server';

/** M3: the call itself shows nothing. Its host opens the page that is bound to the tool. */
export const shown: CallToolResult = {
  content: [{ type: 'text', text: JSON.stringify({ success: true, status: 'The person sees the browser, live.' }) }],
};
