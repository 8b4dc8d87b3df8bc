/** The tool by which an agent shows the browser to its person, where the client shows MCP Apps. */
export const SHOW_TOOL = 'browser_show';

/** Tools of the page in the chat alone: no model is shown them. */
export const APP_TOOLS = {
  socket: 'browser_live_socket',
  exchange: 'browser_live_exchange',
  answer: 'browser_live_answer',
} as const;
