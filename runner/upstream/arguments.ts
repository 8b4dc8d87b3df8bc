/** Arguments as they are passed on; `filename` would put the result into a file, `_meta` choose folders and output format. */
export function passedArguments(args: Record<string, unknown>): Record<string, unknown> {
  const { filename: _filename, _meta, ...rest } = args;
  return rest;
}

/** The texts that Playwright MCP would replace by a secret's value, were one its name. */
export const typedTexts = ({ text, fields }: Record<string, unknown>): string[] =>
  [text, ...(Array.isArray(fields) ? fields.map((field: unknown) => Object(field).value) : [])].filter(
    each => typeof each === 'string',
  );
