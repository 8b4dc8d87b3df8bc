import { encode } from 'gpt-tokenizer/encoding/o200k_base';

/** Tokens of a text, or of a value as JSON, in the encoding o200k. */
export const tokensOf = (value: unknown): number =>
  encode(typeof value === 'string' ? value : JSON.stringify(value)).length;
