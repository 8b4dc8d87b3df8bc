import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Lease } from '../../client/lease.ts';
import { APP_TOOLS, SHOW_TOOL } from '../../contract/app-names.ts';
import { type OpenConsole, openConsole } from '../console/open-console.ts';
import { eventually } from '../eventually.ts';
import { v2 } from '../runner/mcp-clients.ts';
import { type ChatHost, chatHost } from './host.ts';

// M3, with the host half of the extension's official SDK around a real browser's frame.

let running: OpenConsole;
let lease: Lease;
beforeAll(async () => {
  running = await openConsole();
  lease = await running.sessions.acquire({ userId: 'ada', conversationId: 'bread', recordVideo: false });
});
afterAll(() => running?.[Symbol.asyncDispose]());

const PAGE = `data:text/html,<title>Oven</title><style>body{margin:0;background:rgb(0,90,0)}</style>${encodeURIComponent(
  '<button style="position:absolute;left:200px;top:300px;width:800px;height:100px" onclick="document.title=[event.type,event.clientX,event.clientY]">bake</button>',
)}`;

/** Colour of a pixel of the picture, in the middle of its lower edge. */
const colour = (page: Page): Promise<number[]> | undefined =>
  page.frames()[1]?.evaluate(`(() => { const c = document.querySelector('canvas');
    return [...c.getContext('2d').getImageData(c.width / 2, c.height - 20, 1, 1).data.slice(0, 3)]; })()`);
const isGreen = async (page: Page) => {
  const [red = 255, green = 0, blue = 255] = (await colour(page)) ?? [];
  return red < 30 && Math.abs(green - 90) < 30 && blue < 30;
};

describe.each([
  { way: 'socket', sockets: true, era: 'auto' },
  { way: 'calls', sockets: false, era: 'legacy' },
] as const)('the page in a chat, by $way', ({ way, sockets, era }) => {
  let page: Page;
  let chat: ChatHost;
  beforeAll(async () => {
    page = await (await running.browser.newContext({ viewport: { width: 1000, height: 800 } })).newPage();
    page.setDefaultTimeout(20_000);
    chat = await chatHost(page, { mcpUrl: lease.mcpUrl, headers: lease.headers, era, sockets });
  });
  afterAll(async () => {
    await chat?.[Symbol.asyncDispose]();
    await page?.context().close();
  });

  it('[M3] shows the browser beside the chat; a click on the picture is a click in the page, and no model is shown the way', async () => {
    await chat.callAsModel('browser_navigate', { url: PAGE });
    const result = await chat.callAsModel(SHOW_TOOL);
    await chat.frame.locator(`.live[data-by=${way}]`).waitFor();
    await eventually('the picture of the page', () => isGreen(page));
    expect(await chat.frame.getByRole('textbox', { name: 'Address' }).inputValue()).toContain('data:text/html');

    await chat.frame.getByRole('button', { name: 'Take control' }).click();
    await chat.frame.getByText('You have control').waitFor();
    const box = await chat.frame.locator('canvas').boundingBox();
    if (box === null) throw new Error('the picture has no place');
    await page.mouse.click(box.x + (600 / 1920) * box.width, box.y + (350 / 1080) * box.height);
    await expect
      .poll(() => chat.frame.getByRole('textbox', { name: 'Address' }).getAttribute('title'), { timeout: 20_000 })
      .toMatch(/^click,(59\d|60\d),(34\d|35\d)$/);
    await chat.frame.getByRole('button', { name: 'Hand back' }).click();
    await chat.frame.getByText('the agent acts on the browser').waitFor();

    const asked = chat.client.callTool({
      name: 'browser_request_user_action',
      arguments: { reason: 'Is the loaf brown?' },
    });
    await chat.frame.getByText('Is the loaf brown?').waitFor();
    await chat.frame.getByRole('button', { name: way === 'socket' ? 'Done' : 'Decline' }).click();
    expect(JSON.stringify((await asked).content)).toContain(way === 'socket' ? 'done' : 'declined');

    await chat.frame.getByRole('button', { name: 'Expand' }).click();
    await eventually('the display mode', () => chat.modes.includes('fullscreen'));
    // The tools that open the way are the page's alone.
    expect(chat.calledByPage).toContain(way === 'socket' ? APP_TOOLS.socket : APP_TOOLS.exchange);
    expect(await chat.modelTools()).toContain(SHOW_TOOL);
    for (const name of Object.values(APP_TOOLS)) expect(await chat.modelTools()).not.toContain(name);
    expect(JSON.stringify(result)).not.toMatch(/eyJ|ws:/); // a token, an address of the live view
  });
});

it('calls of the page count as its person’s, and are not in the timeline of the agent’s calls', async () => {
  const calls = await eventually('the call that opened the page', async () => {
    const { events } = await running.sessions.listEvents(lease.sessionId);
    const tools = events.flatMap(({ kind, data }) => (kind === 'tool.call' ? [data.tool] : []));
    return tools.includes(SHOW_TOOL) && tools;
  });
  for (const name of Object.values(APP_TOOLS)) expect(calls).not.toContain(name);
});

it('a client that shows no apps is offered none, and calls none of the page’s tools', async () => {
  const client = await v2(lease, { versionNegotiation: { mode: 'auto' } });
  const names = await client.tools();
  for (const name of [SHOW_TOOL, ...Object.values(APP_TOOLS)]) expect(names).not.toContain(name);
  expect(await client.call(APP_TOOLS.exchange, { wait_ms: 0 })).toMatchObject({ isError: true });
  await client.close();
});

it('a viewer that is not known begins again, and what is no message of the live view is refused', async () => {
  const page = await running.context.newPage();
  await using chat = await chatHost(page, { ...lease, era: 'auto', sockets: true });
  const exchange = async (args: Record<string, unknown>) =>
    JSON.stringify((await chat.client.callTool({ name: APP_TOOLS.exchange, arguments: args })).content);
  expect(await exchange({ viewer: crypto.randomUUID(), wait_ms: 0 })).toContain('viewer_unknown');
  expect(await exchange({ say: [{ t: 'nonsense' }] })).toContain('invalid_arguments');
});

it('a policy that blocks browser_show takes the page’s tools away too', async () => {
  const blocked = { version: 1 as const, tools: [{ tools: [SHOW_TOOL], action: 'block_always' as const }] };
  await running.sessions.putPolicy({ userId: 'eve' }, blocked);
  const eves = await running.sessions.acquire({ userId: 'eve', conversationId: 'c', recordVideo: false });
  const page = await running.context.newPage();
  await using chat = await chatHost(page, { ...eves, era: 'auto', sockets: true });
  const { tools } = await chat.client.listTools();
  for (const name of [SHOW_TOOL, ...Object.values(APP_TOOLS)]) expect(tools.map(tool => tool.name)).not.toContain(name);
  expect(await chat.client.callTool({ name: APP_TOOLS.exchange, arguments: { wait_ms: 0 } })).toMatchObject({
    isError: true,
  });
});
