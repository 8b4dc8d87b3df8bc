import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseJsonBody } from '../../http/json-body.ts';

const arrays = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
const objects = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;

it.each([
  ['arrays', arrays(257)],
  ['objects', objects(257)],
  ['a million arrays', arrays(1_000_000)],
  ['arrays that are not closed', '['.repeat(30_000)],
  ['arrays behind a string with escapes', `["\\","\\"[",${arrays(30_000)}]`],
])('refuses what is nested too deep: %s', (_what, text) => {
  expect(() => parseJsonBody(text)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
});

it.each([
  ['brackets in a string', JSON.stringify('['.repeat(1_000))],
  ['brackets after an escaped quote', JSON.stringify(`"${'{'.repeat(1_000)}\\`)],
  ['256 levels', arrays(256)],
  ['a thousand lists beside each other', `[${Array(1_000).fill('[[]]').join()}]`],
  ['a text about a prototype', JSON.stringify({ text: '{"__proto__": 1}' })],
])('takes %s', (_what, text) => {
  expect(parseJsonBody(text)).toEqual(JSON.parse(text));
});

it.each(['{"__proto__":{}}', '[{"\\u005f_proto__" : 1}]', '', '{', '{"a":1}x', 'undefined'])('refuses %s', text => {
  expect(() => parseJsonBody(text)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
});

it('reads any JSON as JSON.parse does', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 20 }), text => {
      fc.pre(!text.includes('__proto__'));
      expect(parseJsonBody(text)).toEqual(JSON.parse(text));
    }),
  );
});
