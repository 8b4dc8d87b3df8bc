import type { ToolCode } from './tool-codes.ts';

/** Key in a tool result that holds its code for programs; its text is for models. */
export const CODE_META = 'omicron.dev/code';

/** A tool result of MCP that says why the call failed. */
export type ToolFailure = {
  content: { type: 'text'; text: string }[];
  isError: true;
  _meta: Record<string, unknown>;
};

/** Why a call was not carried out, as a model reads it. */
export interface Refusal<Code extends ToolCode = ToolCode> {
  /** Stable: programs decide by it. */
  readonly code: Code;
  /** The fault, in a sentence. */
  readonly why: string;
  /** The remedy, in a sentence. */
  readonly instead: string;
}

/** The one form of every refusal that a model reads. */
export const refusalResult = ({ code, why, instead }: Refusal): ToolFailure => toolFailure(code, why, instead);

/** A failure with a stable code, a sentence, and what may help. */
export const toolFailure = (code: ToolCode, message: string, ...hints: string[]): ToolFailure => ({
  content: [{ type: 'text', text: JSON.stringify({ success: false, error: { code, message }, hints }) }],
  isError: true,
  _meta: { [CODE_META]: code },
});
