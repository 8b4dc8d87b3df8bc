import type { CallToolResult } from '@modelcontextprotocol/server';

/**
 * The result with its picture in its text as well, as clients of other servers read it: `{"image": base64}` (P1). For the last step
 * before a result leaves: what cuts texts and looks for secrets in them has nothing to do with a picture.
 */
export function withImageText(result: CallToolResult): CallToolResult {
  const [first, ...rest] = result.content;
  const picture = rest.find(part => part.type === 'image');
  if (result.isError || first?.type !== 'text' || picture === undefined) return result;
  const text = JSON.stringify({ ...JSON.parse(first.text), image: picture.data });
  return { ...result, content: [{ ...first, text }, ...rest] };
}
