/** Takes secrets, and what fields with secrets hold, out of a text. */
export type Conceal = (text: string) => Promise<string>;

/** The first characters of a text. Secrets are taken out before: of one that is cut through, the rest is not found. */
export async function cut(
  text: string,
  charactersMax: number,
  conceal: Conceal,
): Promise<{ content: string; truncated: boolean }> {
  if (text.length <= charactersMax) return { content: text, truncated: false };
  return { content: (await conceal(text)).slice(0, charactersMax), truncated: true };
}
