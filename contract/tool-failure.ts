/** Where a tool result carries its code for programs; its text is for models. */
export const CODE_META = 'omicron.dev/code';

/** A tool result of MCP that says why the call failed. */
export type ToolFailure = {
  content: { type: 'text'; text: string }[];
  isError: true;
  _meta: Record<string, unknown>;
};

/** A failure with a stable code, a sentence, and what may help. */
export const toolFailure = (code: string, message: string, ...hints: string[]): ToolFailure => ({
  content: [{ type: 'text', text: JSON.stringify({ success: false, error: { code, message }, hints }) }],
  isError: true,
  _meta: { [CODE_META]: code },
});
