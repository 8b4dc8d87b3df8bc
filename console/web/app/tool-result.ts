/** As much of a tool's result as the page reads. */
export interface CallToolResult {
  readonly content?: readonly { readonly type: string; readonly text?: string }[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
}

/** Why a call failed: its code and a sentence. */
export function failureOf({ content }: CallToolResult): { code: string; message: string } {
  const text = content?.find(({ type }) => type === 'text')?.text ?? '';
  try {
    return JSON.parse(text).error;
  } catch {
    return { code: '', message: text };
  }
}
