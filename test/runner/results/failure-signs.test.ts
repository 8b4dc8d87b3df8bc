import { expect, test } from 'vitest';
import { isLasting, isOfScript, obstacleIn, refusalIn } from '../../../runner/results/failure-signs.ts';

test.each([
  ['Ref e12 not found in the current page snapshot. Try capturing new snapshot.', '"e12" names no element'],
  [
    "locator.click: Error: strict mode violation: locator('a') resolved to 2 elements:\n  1) <a>1</a>",
    'names 2 elements of the page',
  ],
  ['page.goto: net::ERR_CERT_AUTHORITY_INVALID at https://a.test/\nCall log:\n  - navigating', 'self-signed'],
  ['page.goto: net::ERR_CERT_DATE_INVALID at https://a.test/', 'has expired'],
  ['page.goto: net::ERR_BAD_SSL_CLIENT_AUTH_CERT at https://a.test/', 'a client certificate'],
  ['page.goto: net::ERR_NAME_NOT_RESOLVED at https://a.test/', 'No host has this name'],
  ['locator.fill: Error: Input of type "submit" cannot be filled', 'A field of the type submit'],
  ['locator.setInputFiles: Error: Non-multiple file input can only accept single file', 'takes one file'],
])('%s is worded for agents', (failure, why) => {
  expect(refusalIn(failure)?.why).toContain(why);
});

test.each([
  [
    'Invalid arguments for tool "browser_click":\n✖ Invalid input: expected string, received undefined\n  → at target',
    'target: expected string, received undefined.',
  ],
  ['Error: Tab 99 not found', 'There is no tab 99.'],
  ['Request #999 not found. Use browser_network_requests to see available indexes.', 'There is no request 999.'],
])('arguments that do not fit are answered as such: %s', (failure, why) => {
  expect(refusalIn(`### Error\n${failure}`)).toMatchObject({ code: 'invalid_arguments', why });
});

test('an error that a script throws is passed on as it is, whatever it imitates', () => {
  expect(refusalIn('page.evaluate: Error: net::ERR_CERT_AUTHORITY_INVALID')).toBeUndefined();
  expect(refusalIn('page.evaluate: Error: Ref e1 not found in the current page snapshot')).toBeUndefined();
});

test('reports the last state of the element after a timeout', () => {
  const log = 'Call log:\n  - element is not visible\n  - waiting\n  - element is not stable\n';
  expect(obstacleIn(log)?.why).toBe('The element never stands still.');
  expect(obstacleIn('  - <html lang="en">…</html> intercepts pointer events')?.why).toContain('switched off');
  expect(obstacleIn('  - <div>ad</div> intercepts pointer events')?.why).toContain('covered by <div>ad</div>');
});

test.each([
  ['page.evaluate: Timeout 5ms exceeded', true],
  ['page.evaluate: Error: Timeout 5ms exceeded.\nCall log:\n  - <b>a</b> intercepts pointer events', true],
  ['elementHandle.evaluate: Timeout 5ms exceeded', true],
  ['locator.evaluate: Timeout 5ms exceeded.\nCall log:\n  - waiting for', false],
  ['locator.click: Timeout 5ms exceeded.', false],
])('a script says %s: %s', (failure, isScript) => {
  expect(isOfScript(failure)).toBe(isScript);
});

test('a long failure that imitates signs is read in no time', () => {
  const startMs = performance.now();
  for (const words of [
    'The selector "',
    'strict mode violation: ',
    '- <html> from x> intercepts ',
    'Unexpected token ',
  ])
    for (const failure of [`Error: ${words.repeat(50_000)}`, `Call log:\n  - <html ${words.repeat(50_000)}`])
      expect([refusalIn(failure), obstacleIn(failure), isLasting(failure)]).toBeDefined();
  expect(performance.now() - startMs).toBeLessThan(1_000);
});
