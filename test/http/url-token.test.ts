import { expect, it } from 'vitest';
import { takeUrlToken } from '../../http/url-token.ts';

const TOKEN = 'x'.repeat(43);

it('[E4] takes the token of an address as the bearer token, in place of any other, and leaves none in the path', () => {
  for (const [url, path] of [
    [`/mcp/${TOKEN}`, '/mcp'],
    [`/runners/1/mcp/${TOKEN}`, '/runners/1/mcp'],
  ]) {
    const request = {
      url,
      headers: { authorization: 'Bearer old' },
      rawHeaders: ['Authorization', 'Bearer old', 'A', 'b'],
    };
    expect(takeUrlToken(request)).toBe(path);
    expect(request.headers.authorization).toBe(`Bearer ${TOKEN}`);
    expect(request.rawHeaders).toEqual(['A', 'b', 'authorization', `Bearer ${TOKEN}`]);
  }
});

it('leaves other addresses as they are', () => {
  for (const url of ['/mcp', '/mcp/short', `/files/${TOKEN}`, `/mcp/${TOKEN}/more`, `/mcp/${TOKEN}?a=b`]) {
    const request = { url, headers: {}, rawHeaders: [] };
    expect(takeUrlToken(request)).toBe(url);
    expect(request).toEqual({ url, headers: {}, rawHeaders: [] });
  }
});
