import { readdir, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { TOOLSETS } from '../../../contract/assignment.ts';
import { toolsOf } from '../../../contract/tool-list.ts';
import { TOOLS } from '../../../runner/tools/all.ts';
import { annotationsOf } from '../../../runner/tools/define-tool.ts';

const NAMES = TOOLS.map(({ name }) => name);
const sources = async (folder: string, ext = '.ts') =>
  (await readdir(folder, { recursive: true })).filter(name => name.endsWith(ext)).map(name => `${folder}/${name}`);

test('a name is of one tool, and each file that defines a tool is in the list', async () => {
  expect(new Set(NAMES).size).toBe(NAMES.length);
  const texts = await Promise.all((await sources('runner/tools')).map(async file => readFile(file, 'utf8')));
  expect(texts.filter(text => text.includes(' = defineTool({'))).toHaveLength(TOOLS.length);
});

test('what each toolset lists is what the tools say', () => {
  for (const toolset of TOOLSETS) {
    const listed = TOOLS.filter(({ playwright, own }) =>
      [playwright, own].some(form => form?.sets.includes(toolset)),
    ).map(({ name, effect }) => ({ name, annotations: annotationsOf(effect) }));
    for (const { name, annotations } of toolsOf(toolset)) expect(listed).toContainEqual({ name, annotations });
  }
});

/** Playwright MCP's own names, of the calls that the runner makes itself. */
const ASKED_BY_THE_RUNNER = 'runner/upstream/requests.ts';

test('nothing outside of runner/tools decides by the name of a tool', async () => {
  const files = (await sources('runner')).filter(
    file => !file.startsWith('runner/tools/') && !file.includes('node_modules') && file !== ASKED_BY_THE_RUNNER,
  );
  expect(files.length).toBeGreaterThan(100);
  // A name as a whole text, or as a key: `case 'browser_type'`, `browser_type: 30`.
  const decides = new RegExp(
    `['"](?:${NAMES.join('|')})['"]|^\\s*(?:${NAMES.filter(name => name.startsWith('browser_')).join('|')}):`,
  );
  for (const file of files) {
    const lines = (await readFile(file, 'utf8')).split('\n').filter(line => decides.test(line));
    expect(lines, file).toEqual([]);
  }
});

test('a tool of Playwright MCP that may be called while a page holds a secret says so itself', () => {
  const closed = TOOLS.filter(({ whileTainted }) => typeof whileTainted === 'object' && whileTainted.closed);
  expect(closed.map(({ name }) => name).sort()).toEqual([
    'browser_console_messages',
    'browser_drag',
    'browser_drop',
    'browser_evaluate',
    'browser_file_upload',
    'browser_find',
    'browser_mouse_down',
    'browser_mouse_drag_xy',
    'browser_mouse_up',
    'browser_network_request',
  ]);
});
