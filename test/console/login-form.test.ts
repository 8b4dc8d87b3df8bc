import { expect, test } from 'vitest';
import { loginFields } from '../../console/server/login-form.ts';

const field = (type: string, name: string, more = {}) => ({
  ...{ type, name, selector: `[name="${name}"]`, autocomplete: '', disabled: false, ...more },
});
const form = (...fields: ReturnType<typeof field>[]) => ({ fields, submit: { selector: '#go' } });

test('the form with a password is the login, whatever else the page asks for', () => {
  const search = form(field('text', 'q'));
  const login = form(field('text', 'who'), field('password', 'pw'));
  expect(loginFields({ forms: [search, login], fields: [] })).toEqual({
    ...{ usernameSelector: '[name="who"]', passwordSelector: '[name="pw"]', submitSelector: '#go' },
  });
});

test('a page that asks for the username alone is the first step; one without either is no login', () => {
  expect(loginFields({ forms: [form(field('email', 'mail'))], fields: [] })).toEqual({
    ...{ usernameSelector: '[name="mail"]', submitSelector: '#go' },
  });
  expect(loginFields({ forms: [form(field('text', 'q'))], fields: [field('text', 'coupon')] })).toBeUndefined();
});

test('fields outside of a form count, and a new password is no login', () => {
  expect(loginFields({ forms: [], fields: [field('text', 'user'), field('password', 'pw')] })).toEqual({
    ...{ usernameSelector: '[name="user"]', passwordSelector: '[name="pw"]' },
  });
  const signUp = form(field('password', 'new', { autocomplete: 'new-password' }), field('text', 'username'));
  expect(loginFields({ forms: [signUp], fields: [] })?.passwordSelector).toBeUndefined();
});
