import { expect, test } from 'vitest';
import { refusedSelector as refused } from '../../../runner/secrecy/selectors.ts';

/** Names of a page before the login; none begins with `late`. */
const known = {
  hasName: (name: string) => !name.startsWith('late'),
  wasShown: (target: string) => target === '#late-shown',
};
const refusedSelector = (target: string) => refused(target, known);

test.each([
  'e12',
  'f1e3',
  'aria-ref=e5',
  '#password',
  'input',
  'form.login > input:nth-child(2n+1)',
  'ul li:first-of-type + li ~ li',
  'input[name=password]',
  'input[NAME="user[password]"]',
  '[na\\6d e=password]',
  '[type="password"], [id]',
  'a:not(:is(.b, [role=button]))',
  'css=#a >> .b',
  '*css=form >> input',
  '#a\\:b',
  'input:nth-last-of-type(odd)',
  "getByRole('button')",
  "getByTestId('submit')",
  "locator('#a').first()",
  "locator('#a').nth(2)",
  "frameLocator('iframe').locator('#id')",
])('%s is allowed: it asks for a place or a name', target => expect(refusedSelector(target)).toBeUndefined());

test.each([
  '#password:is([value^="a"], x)',
  '[value="a"]',
  '[VALUE="a"]',
  '[\\76 alue="a"]',
  '[\\000076alue="a"]',
  '[*|value^="a"]',
  '[|value="a"]',
  '[ns|name="a"]',
  '[name^="a"]',
  '[name*="a"]',
  '[name$="a"]',
  '[name~="a"]',
  '[name|="a"]',
  '[name="a" i]',
  '[title="a"]',
  '[alt]',
  '[placeholder="a"]',
  '[href="a"]',
  '[aria-label="a"]',
  '[data-value="a"]',
  '[style*="a"]',
  'input:valid',
  'input:not(:invalid)',
  ':user-invalid',
  ':placeholder-shown',
  ':in-range',
  ':checked',
  ':autofill',
  ':empty',
  ':dir(rtl)',
  ':lang(a)',
  ':hover',
  ':host([value^=a])',
  'input:nth-child(1 of [value^=a])',
  'a:not(b, :is(c, [value^="a"]))',
  'a:where([value^="a"])',
  ':light([value^="a"])',
  'form:has(input)',
  ':has-text("a")',
  ':text("a")',
  ':text-is("a")',
  ':text-matches("a")',
  'a:visible',
  'a:right-of(b)',
  'a:near([value^="a"])',
  ':nth-match([value^="a"], 1)',
  'text=a',
  '"a"',
  "'a'",
  'text=/a/',
  '//input[@value="a"]',
  '..',
  'xpath=//input',
  'id=a',
  'data-testid=a',
  'role=textbox[name="a"]',
  'role=checkbox[checked]',
  '_react=x',
  '_vue=x',
  'a >> visible=true',
  'a >> text=b',
  'a >> internal:has-text="b"i',
  'a >> internal:has="[value^=a]"',
  'a >> internal:and="[value^=a]"',
  'css:light=[value^="a"]',
  "getByRole('button', { name: 'a' })",
  "getByRole('checkbox', { checked: true })",
  'getByTestId(/a/)',
  "getByText('a')",
  "getByLabel('a')",
  "getByPlaceholder('a')",
  "getByTitle('a')",
  "getByAltText('a')",
  "locator('a').filter({ hasText: 'b' })",
  "locator('a').filter({ has: locator('[value^=a]') })",
  "locator('a').or(locator('[value^=a]'))",
  '[id=',
  '',
  'a/**/[value]',
])('%s is refused, with what to do instead', target => {
  expect(refusedSelector(target)).toMatchObject({
    code: 'selector_refused',
    instead: expect.stringContaining('Use a ref of browser_snapshot'),
  });
});

test('a refusal names what it refuses', () => {
  expect(refusedSelector('#password:is([value^="a"])')?.why).toContain('"[value^="');
  expect(refusedSelector('input:valid')?.why).toContain('":valid"');
  expect(refusedSelector('text=a')?.why).toContain('"text="');
});

test('a name that came after the login is asked for only as a result has shown it', () => {
  for (const target of [
    '#late-T',
    '.late-T',
    'late-t',
    'div > #\\6c ate',
    '[name="late-T"]',
    '[name=late-T]',
    ':is(.a, .late-T)',
    "getByTestId('late-T')",
    "locator('#a').locator('.late')",
    'form #late-shown',
  ])
    expect(refusedSelector(target)?.why, target).toMatch(/"late\S*", a name that came after the login/i);
  expect(refusedSelector('#late-shown')).toBeUndefined();
});

test('a long target is judged without backtracking', () => {
  const count = 1_900;
  for (const unit of ['a', '\\61 ', '-', '.a', '#a', '[id]', ':root', '[id="', ':nth-child(1 ', '\\abcdef', '\\1f600'])
    expect(refusedSelector(`${unit.repeat(count / unit.length)}[value]`)).toBeDefined();
});
