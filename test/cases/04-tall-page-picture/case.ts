import type { CallToolResult } from '@modelcontextprotocol/client';
import { expect } from 'vitest';
import { defineCase, type Step } from '../case.ts';

const SIDE_MAX = 8_000;

/** Each picture holds bytes, and has no side that model APIs refuse. */
function checkPictures({ content }: CallToolResult): void {
  const pictures = content.filter(each => each.type === 'image');
  expect(pictures).toHaveLength(4);
  for (const { data, mimeType } of pictures) {
    const bytes = Buffer.from(data, 'base64');
    expect(bytes.length).toBeGreaterThan(100);
    if (mimeType !== 'image/png') continue;
    for (const offset of [16, 20]) expect(bytes.readUInt32BE(offset)).toBeLessThanOrEqual(SIDE_MAX);
  }
}

const takes = (args: Record<string, unknown>): Step => ({
  tool: 'browser_take_screenshot',
  args,
  shows: /It has 1920 x 300\d\d pixels, .* these are 4 parts of it, from the top/,
  check: checkPictures,
});

// microsoft/playwright-mcp#817, microsoft/playwright#42721
export default defineCase({
  title: 'a picture of a very long page comes in parts that model APIs take',
  steps: () => [takes({ fullPage: true, type: 'png' }), takes({ fullPage: true, type: 'webp' })],
});
