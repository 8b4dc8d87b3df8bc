import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { tokensOf } from '../tokens/tokens.ts';
import { toolList } from '../tokens/tool-list.ts';
import { toolListsFile } from '../tokens/tool-lists-file.ts';

const LISTS = {
  playwright: await toolList('playwright'),
  core: await toolList('core'),
  compat: await toolList('compat'),
  both: await toolList('both'),
};

describe.each([
  ['playwright', 2_500],
  ['core', 1_400],
] as const)('tools/list of the toolset %s', (toolset, tokensMax) => {
  const tools = LISTS[toolset];

  test(`takes at most ${tokensMax} tokens`, () => {
    expect(tokensOf(tools)).toBeLessThanOrEqual(tokensMax);
  });

  test.each(tools)('says what $name is, what it takes, and whether it changes anything', tool => {
    expect(tool.description).toMatch(/^[A-Z].{5,}/);
    expect(tool.title).toMatch(/^[A-Z]/);
    expect(tool.annotations).toSatisfy(
      ({ readOnlyHint, destructiveHint }) => (readOnlyHint === true) !== (typeof destructiveHint === 'boolean'),
    );
    for (const [name, property] of Object.entries(tool.inputSchema.properties ?? {})) {
      expect(['filename', 'element']).not.toContain(name);
      expect(property).toSatisfy((schema: object) => 'type' in schema || 'enum' in schema || 'anyOf' in schema);
    }
  });
});

test('arguments with a default are optional', () => {
  const required = Object.fromEntries(LISTS.both.map(({ name, inputSchema }) => [name, inputSchema.required ?? []]));
  expect(required).toMatchObject({
    browser_console_messages: [],
    browser_mouse_wheel: [],
    browser_network_requests: [],
    browser_take_screenshot: [],
    browser_click: [],
    browser_type: ['text'],
  });
});

test('programs without a runner list what runners list (else: npm run tools)', async () => {
  expect(await readFile('contract/tool-list.json', 'utf8')).toBe(toolListsFile(LISTS));
});
