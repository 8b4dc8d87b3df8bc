import { expect, test } from 'vitest';
import { addressOf, isOutside, refusedUrl } from '../../../runner/browser/addresses.ts';

test.each([
  ['https://example.com/a', 'https://example.com/a'],
  ['  HTTPS://Example.com ', 'HTTPS://Example.com'],
  ['<https://example.com>', 'https://example.com'],
  ['example.com/a?b', 'https://example.com/a?b'],
  ['//example.com', 'https://example.com'],
  ['https//example.com', 'https://example.com'],
  ['localhost:3000/path', 'http://localhost:3000/path'],
  ['localhost', 'http://localhost'],
  ['127.0.0.1:8901/x', 'http://127.0.0.1:8901/x'],
  ['192.168.0.1', 'http://192.168.0.1'],
  ['[::1]:8080', 'http://[::1]:8080'],
  ['example.com:8080', 'http://example.com:8080'],
  ['example.com:443/a', 'https://example.com:443/a'],
  ['/login?next=1', 'https://shop.test/login?next=1'],
  ['#top', 'https://shop.test/cart#top'],
  ['about:blank', 'about:blank'],
  ['not a url', undefined],
  ['', undefined],
  ['http://', undefined],
])('%j is the address %j', (text, address) => {
  expect(addressOf(text, 'https://shop.test/cart')).toBe(address);
});

test('a path is no address where no page is shown', () => {
  expect(addressOf('/login', 'about:blank')).toBeUndefined();
  expect(refusedUrl('/login', 'about:blank')?.code).toBe('invalid_arguments');
});

test.each([
  'file:///etc/passwd',
  '"file:///etc/passwd"',
  'view-source:http://a.test',
  'chrome://version',
  'javascript:1',
])('%s is closed', url => {
  expect(refusedUrl(url)?.code).toBe('address_closed');
});

test.each(['mailto:ada@example.org', 'tel:+123', 'zoommtg://zoom.us/join', 'com.example.app:/callback'])(
  '%s leads out of the browser',
  url => {
    expect(isOutside(url)).toBe(true);
    expect(refusedUrl(url)?.why).toContain('a program outside of the browser');
  },
);
