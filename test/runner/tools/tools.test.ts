import { readdir, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { TOOLSETS } from '../../../contract/assignment.ts';
import { toolsOf } from '../../../contract/tool-list.ts';
import { TOOLS } from '../../../runner/tools/all.ts';
import { annotationsOf, defineTool, type ToolDefinition } from '../../../runner/tools/define-tool.ts';
import { hover } from '../../../runner/tools/hover.ts';
import type { PlaywrightForm } from '../../../runner/tools/playwright-form.ts';
import { linesThatNameTools } from './names-of-tools.ts';

const NAMES = TOOLS.map(({ name }) => name);
const sources = async (folder: string, ext = '.ts') =>
  (await readdir(folder, { recursive: true })).filter(name => name.endsWith(ext)).map(name => `${folder}/${name}`);

test('a name is of one tool, and each file that defines a tool is in the list', async () => {
  expect(new Set(NAMES).size).toBe(NAMES.length);
  const texts = await Promise.all((await sources('runner/tools')).map(async file => readFile(file, 'utf8')));
  expect(texts.filter(text => text.includes(' = defineTool({'))).toHaveLength(TOOLS.length);
});

test('each toolset lists the tools that name it', () => {
  for (const toolset of TOOLSETS) {
    const listed = TOOLS.filter(({ playwright, custom }) =>
      [playwright, custom].some(form => form?.sets.includes(toolset)),
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
  for (const file of files) expect(linesThatNameTools(file, await readFile(file, 'utf8'))).toEqual([]);
});

test.each([
  ["switch (tool) { case 'browser_type': return 30; }"],
  ["const SECONDS = { browser_wait: 40, 'browser_type': 30 };"],
  ['if (call.name === `listProfiles`) return;'],
])('such a decision is found: %s', source => {
  expect(linesThatNameTools('runner/calls/fit.ts', source)).not.toEqual([]);
  expect(
    linesThatNameTools('runner/calls/fit.ts', `// ${source}\nconst why = 'Answer it with browser_type.';`),
  ).toEqual([]);
});

test('the protocol of MCP alone is in fewer than 600 lines', async () => {
  const texts = await Promise.all((await sources('runner/mcp')).map(file => readFile(file, 'utf8')));
  expect(texts.join('').split('\n').length).toBeLessThan(600);
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

test('a tool that leaves out a fact does not compile', () => {
  const { name, seconds, effect, whileTainted, shorter, playwright } = hover;
  const { sets, title, description, args, unlisted, settles, snapshotAfter, run } = playwright;
  const incomplete: unknown[] = [
    // @ts-expect-error without its time limit
    defineTool({ name, effect, whileTainted, shorter, playwright }),
    // @ts-expect-error without its effect
    defineTool({ name, seconds, whileTainted, shorter, playwright }),
    // @ts-expect-error without its rule for tainted documents
    defineTool({ name, seconds, effect, shorter, playwright }),
    // @ts-expect-error without its advice for a shorter answer
    defineTool({ name, seconds, effect, whileTainted, playwright }),
    // @ts-expect-error without a form
    defineTool({ name, seconds, effect, whileTainted, shorter }),
    // @ts-expect-error without its toolsets
    { title, description, args, unlisted, settles, snapshotAfter, run } satisfies PlaywrightForm,
    // @ts-expect-error without how it settles
    { sets, title, description, args, unlisted, snapshotAfter, run } satisfies PlaywrightForm,
    // @ts-expect-error without whether a snapshot follows
    { sets, title, description, args, unlisted, settles, run } satisfies PlaywrightForm,
  ];
  const complete: ToolDefinition = defineTool({ name, seconds, effect, whileTainted, shorter, playwright });
  expect(incomplete).not.toContainEqual(complete);
});
