import { expect, test } from 'vitest';
import { maskFields } from '../../../runner/secrecy/mask-fields.ts';

const held = new Map([
  ['hun', 'SHOP_PASSWORD'],
  ['a "b": c', 'SHOP_USERNAME'],
]);

test('the lines of filled fields show the name of the credential, whatever the field holds', () => {
  const tree = [
    '- textbox "Password" [active] [ref=e5]: hun',
    '  - textbox "User" [ref=e6]:',
    '    - /placeholder: you',
    '    - text: hun',
    `- 'textbox "a: b" [ref=e7]': ${JSON.stringify('a "b": c')}`,
    '- textbox "Other" [ref=e8]: hunt',
    '- paragraph [ref=e9]: hun',
  ];
  const masked = [
    '- textbox "Password" [active] [ref=e5]: <secret>SHOP_PASSWORD</secret>',
    '  - textbox "User" [ref=e6]:',
    '    - /placeholder: you',
    '    - text: <secret>SHOP_PASSWORD</secret>',
    `- 'textbox "a: b" [ref=e7]': <secret>SHOP_USERNAME</secret>`,
    '- textbox "Other" [ref=e8]: hunt',
    '- paragraph [ref=e9]: hun',
  ];
  expect(maskFields(tree.join('\n'), held)).toBe(masked.join('\n'));
  expect(JSON.parse(maskFields(JSON.stringify({ content: tree.join('\n') }), held))).toEqual({
    content: masked.join('\n'),
  });
});

test('a text stays unchanged if nothing was filled in', () => {
  expect(maskFields('- textbox "Password": hun', new Map())).toBe('- textbox "Password": hun');
});
