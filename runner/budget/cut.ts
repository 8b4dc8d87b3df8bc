import { beginning } from '../../contract/well-formed.ts';

/** Takes secrets, and what fields with secrets hold, out of a text. */
export type Conceal = (text: string) => Promise<string>;

/** The longest spelling of a secret, about. */
const SECRET_CHARACTERS_MAX = 32_768;

/**
 * The first characters of a text, without secrets where it is longer: of one that is cut through, the rest is not found, so
 * they are taken out of more than is shown. For the whole text this would take a second a megabyte.
 */
export async function cut(
  text: string,
  charactersMax: number,
  conceal: Conceal,
): Promise<{ content: string; truncated: boolean }> {
  if (text.length <= charactersMax) return { content: text, truncated: false };
  const read = text.slice(0, charactersMax + 2 * SECRET_CHARACTERS_MAX);
  const safe = await conceal(read);
  const sure = read.length < text.length ? safe.slice(0, -SECRET_CHARACTERS_MAX) : safe;
  return { content: beginning(sure, charactersMax), truncated: true };
}
