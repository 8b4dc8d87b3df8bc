import type { CallToolResult } from '@modelcontextprotocol/server';
import { refusalResult } from '../../contract/tool-failure.ts';
import { screenshotPart } from '../acting/screenshot.ts';
import { refusedUrl } from '../browser/addresses.ts';
import { pageResult, withNotes } from '../results/result.ts';
import type { PageContext } from './custom-form.ts';
import { goSignedIn } from './go-signed-in.ts';

/** Goes there, and resolves with what the page is then, or with a refusal. */
export async function openAddress(
  address: string,
  { page, lease, settled, signal }: PageContext,
  fields: Record<string, unknown> = {},
): Promise<CallToolResult> {
  const closed = refusedUrl(address, page.url());
  if (closed !== undefined) return refusalResult(closed);
  const gone = await settled(page, () => goSignedIn(page, address, lease, signal), { firstMs: 0 });
  if ('code' in gone) return refusalResult(gone);
  const { response } = gone;
  const isError = response !== undefined && response.status() >= 400;
  return pageResult(page, fields, isError ? [`The site answered ${response.status()} ${response.statusText()}.`] : []);
}

/** The result with a picture of the page, or why there is none. */
export async function withPicture(
  result: CallToolResult,
  { page, lease: { pictures } }: PageContext,
): Promise<CallToolResult> {
  if (result.isError) return result;
  const picture = await screenshotPart(page, pictures);
  return 'withheld' in picture
    ? withNotes(result, [picture.withheld])
    : { ...result, content: [...result.content, picture] };
}
