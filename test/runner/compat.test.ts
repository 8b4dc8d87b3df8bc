import { randomUUID } from 'node:crypto';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { type FakeController, startFakeController } from '../fakes/controller.ts';
import { type Site, startSite } from '../site/site.ts';
import { callText, connect, type RunnerProcess, startRunner } from './start.ts';
import { startLease } from './start-lease.ts';

let site: Site;
let controller: FakeController;
let runner: RunnerProcess;
let client: Client;
let sessionId: string;
beforeAll(async () => {
  site = await startSite();
  controller = await startFakeController();
  // The deployment says one thing, the lease another: the lease's counts.
  runner = await startRunner(controller, { [ENV.toolset]: 'both' });
  const assigned = await controller.assignment(runner, { toolset: 'compat' });
  sessionId = assigned.sessionId;
  await runner.post('/assign', { token: assigned.token });
  client = await connect(runner.url, assigned.mcpToken);
});
afterAll(async () => {
  await client.close();
  await runner.dispose();
  await controller.close();
  await site.close();
});

interface Part {
  type: string;
  text?: string;
  data?: string;
  mimeType?: string;
}

/** The content of a result, parsed: every own tool answers JSON in its first part. */
async function call(name: string, args: Record<string, unknown> = {}) {
  const result = await client.callTool({ name, arguments: args });
  const content = result.content as Part[]; // the tool-result shape of the protocol
  const [first] = content;
  return { content, failed: result.isError === true, answer: JSON.parse(first?.text ?? '{}'), meta: result._meta };
}
const show = (html: string) => call('browser_navigate', { url: `data:text/html,${encodeURIComponent(html)}` });

test('[P1] the seven tools are there by name, with their inputs and a sessionId that may be left out', async () => {
  const { tools } = await client.listTools();
  const inputs = Object.fromEntries(
    tools.map(({ name, inputSchema }) => [
      name,
      { properties: Object.keys(inputSchema.properties ?? {}).sort(), required: inputSchema.required ?? [] },
    ]),
  );
  expect(inputs).toMatchObject({
    browser_navigate: { properties: ['screenshot', 'sessionId', 'url'], required: ['url'] },
    browser_screenshot: { properties: ['fullPage', 'imageText', 'sessionId'], required: [] },
    browser_click: { properties: ['selector', 'sessionId', 'x', 'y'], required: [] },
    browser_type: { properties: ['selector', 'sessionId', 'text'], required: ['selector', 'text'] },
    browser_get_content: { properties: ['format', 'sessionId'], required: [] },
    browser_scroll: { properties: ['amount', 'direction', 'sessionId'], required: ['direction'] },
    browser_fill_and_submit: { properties: ['fields', 'sessionId', 'submitSelector'], required: ['fields'] },
  });
  const opened = await call('browser_open', { url: site.url });
  expect(opened.answer).toMatchObject({ status: 'opened', sessionId, title: 'Shop' });
  expect(await call('browser_navigate', { url: `${site.url}/login`, sessionId })).toMatchObject({
    answer: { url: `${site.url}/login`, title: 'Log in' },
  });
  expect(
    (await call('browser_type', { selector: 'input[name=username]', text: 'bob', sessionId })).answer.success,
  ).toBe(true);
  const fields = [{ selector: 'input[name=password]', value: 'pass' }];
  const sent = await call('browser_fill_and_submit', { fields, submitSelector: 'button' });
  expect(sent.answer).toMatchObject({ success: true, url: `${site.url}/account` });
  expect(site.logins.at(-1)).toEqual({ username: 'bob', password: 'pass' });
  expect((await call('browser_scroll', { direction: 'down', amount: 0 })).answer).toMatchObject({ scrollY: 0 });
  expect((await call('browser_click', { selector: 'body' })).answer).toMatchObject({
    success: true,
    url: sent.answer.url,
  });
  expect((await call('browser_get_content', { format: 'accessibility' })).answer.content).toContain('Hello bob!');
  // The picture is in the text where that is asked for, beside the part of MCP.
  const { answer, content } = await call('browser_screenshot', { imageText: true });
  expect(answer).toMatchObject({ success: true, mimeType: 'image/png' });
  expect(answer.image).toBe(content.find(({ type }) => type === 'image')?.data);
  expect(Buffer.from(answer.image, 'base64').subarray(1, 4).toString()).toBe('PNG');
  expect((await call('browser_screenshot')).answer).not.toHaveProperty('image');
});

test('[A2] a picture comes with open and navigate where it is asked for', async () => {
  const types = async (name: string, args: object) =>
    (await call(name, { url: site.url, ...args })).content.map(({ type }) => type);
  expect(await types('browser_navigate', {})).toEqual(['text']);
  expect(await types('browser_navigate', { screenshot: true })).toEqual(['text', 'image']);
  expect(await types('browser_open', {})).toEqual(['text', 'image']);
  expect(await types('browser_open', { screenshot: false })).toEqual(['text']);
});

test('[P2] probes of other MCP servers are answered at /health', async () => {
  const response = await fetch(`${runner.url}/health`);
  expect([response.status, await response.json()]).toEqual([200, { status: 'ok' }]);
});

test('[P6] a name that the client made up is the lease’s once a call gave it; another one is a mismatch', async () => {
  await using lease = await startLease({ toolset: 'compat', recordVideo: false, env: { [ENV.imageText]: 'on' } });
  const code = async (name: string, args: object) => {
    const { _meta, content } = await lease.client.callTool({ name, arguments: { ...args } });
    const [first] = content as Part[]; // the tool-result shape of the protocol
    return _meta?.['omicron.dev/code'] ?? JSON.parse(first?.text ?? '');
  };
  // No id of a session, of another lease's for instance, becomes a name.
  expect(await code('browser_navigate', { sessionId: randomUUID(), url: site.url })).toBe('session_mismatch');
  expect(await code('browser_navigate', { sessionId: 'test-session-1', url: site.url })).toMatchObject({
    title: 'Shop',
  });
  // By the deployment's setting, as clients of other servers read it.
  const { image } = await code('browser_screenshot', { sessionId: 'test-session-1' });
  expect(image.length).toBeGreaterThan(1_000);
  expect(await code('browser_get_content', {})).toMatchObject({ title: 'Shop' });
  for (const sessionId of ['browser-a1b2-1701234567890', '', 7])
    expect(await code('browser_get_content', { sessionId })).toBe('session_mismatch');
});

test('[S2] an unknown session is refused with one code, a failure says its code and what may help', async () => {
  const before = (await call('browser_get_content', { format: 'text' })).answer.url;
  const foreign = await call('browser_navigate', { url: site.url, sessionId: randomUUID() });
  expect(foreign).toMatchObject({ failed: true, answer: { success: false, error: { code: 'session_mismatch' } } });
  expect(foreign.meta?.['omicron.dev/code']).toBe('session_mismatch');
  expect((await call('browser_get_content', { format: 'text' })).answer.url).toBe(before);

  await show('<button disabled>No</button>');
  const late = await call('browser_click', { selector: 'button' });
  expect(late.answer.error.code).toBe('browser_action_timeout:browser_click:5s');
  expect(late.answer.hints).toEqual([expect.stringContaining('wait, then look')]);
  await show('<a href="%23">1</a><a href="%23">2</a>');
  const several = await call('browser_click', { selector: 'a' });
  expect(several.answer).toMatchObject({ success: false, error: { code: 'element_not_found' } });
  expect(several.answer.hints).toEqual([expect.stringContaining('Several elements match')]);
  expect((await call('browser_scroll', { direction: 'sideways' })).answer.error).toMatchObject({
    code: 'invalid_arguments',
    message: expect.stringContaining('direction'),
  });
  expect((await call('browser_navigate', { url: 'file:///etc/passwd' })).answer.error.code).toBe('address_closed');
  expect((await call('browser_click', {})).answer.error.code).toBe('invalid_arguments');
  const unknown = await call('browser_take_screenshot');
  expect(unknown).toMatchObject({
    failed: true,
    answer: { success: false, error: { code: 'unknown_tool', message: expect.stringContaining('not available') } },
    meta: { 'omicron.dev/code': 'unknown_tool' },
  });
  expect(unknown.answer.hints).toEqual([
    'Did you mean browser_screenshot?',
    'Call tools/list for the available tools.',
  ]);
});

test('content comes as text, html, links, or a tree with forms whose selectors work', async () => {
  await call('browser_navigate', { url: `${site.url}/` });
  expect((await call('browser_get_content', { format: 'text' })).answer.content).toContain('Welcome.');
  expect((await call('browser_get_content', { format: 'html' })).answer.content).toContain('<a href="/login">');
  expect((await call('browser_get_content', { format: 'links' })).answer.links).toContainEqual({
    text: 'Log in',
    href: `${site.url}/login`,
  });
  await show(`<title>T</title><h1>Shop</h1>
    <form id="search"><input name="q" placeholder="Search"><button>Go</button></form>
    <form action="https://example.com/in?x=1" method="post">
      <label>Mail <input type="email" id="x8123991" name="q"></label><input type="password" required>
      <select name="c"><option>One</option></select><input type="hidden" name="t" value="1"><button>Sign in</button></form>
    <div><textarea></textarea></div><div><textarea></textarea></div>
    <button onclick="document.title='clicked'">Extra</button>`);
  const { answer } = await call('browser_get_content');
  expect(answer.content).toContain('heading "Shop"');
  const [search, signIn] = answer.forms;
  expect(search).toMatchObject({ selector: '#search', fields: [{ label: 'Search' }], submit: { text: 'Go' } });
  expect(signIn).toMatchObject({
    method: 'post',
    action: 'https://example.com/in',
    fields: [
      { type: 'email', label: 'Mail', name: 'q' },
      { type: 'password', required: true },
      { tag: 'select', options: ['One'] },
    ],
    submit: { text: 'Sign in' },
  });
  // A name that a framework made up is not a lasting selector.
  expect(signIn.fields[0].selector).not.toContain('x8123991');
  for (const field of [...search.fields, ...signIn.fields.slice(0, 2), ...answer.fields]) {
    const typed = await call('browser_type', { selector: field.selector, text: `into ${field.selector}` });
    expect(typed.answer, JSON.stringify(typed.answer)).toMatchObject({ success: true });
  }
  expect(answer.fields).toHaveLength(2);
  const extra = answer.buttons.find((button: { text: string }) => button.text === 'Extra');
  expect((await call('browser_click', { selector: extra.selector })).answer.title).toBe('clicked');
});

test('lists, checkboxes and radio buttons are chosen by what they say, and a form that requires them is sent', async () => {
  const form = `<form action="${site.url}/echo"><select name="text" required><option value=""></option><option value=xl>Extra large</option>
    <option>Small</option></select><label><input type=checkbox name=terms required> I agree</label>
    <label><input type=radio name=by value=post> By post</label><label><input type=radio name=by value=air checked> By air</label>
    <button>Send</button></form>`;
  const STATE = `<body><output></output><script>onchange = () => { document.title = JSON.stringify(
    [...new FormData(document.forms[0])]) }</script>`;
  const type = async (selector: string, text: string) => (await call('browser_type', { selector, text })).answer;
  await show(`${form}${STATE}`);
  expect(await type('select', 'Medium')).toMatchObject({
    error: { code: 'option_not_found', message: 'No option is "Medium".' },
    hints: ['Choose one of: "Extra large", "Small" and 1 more.'],
  });
  expect((await type('[name=terms]', 'perhaps')).hints).toEqual(['Choose one of: "true", "false", "on", "I agree".']);
  expect((await type('[value=air]', 'false')).error.code).toBe('option_not_found');
  await type('select', 'small');
  await type('[name=terms]', 'true');
  const chosen = [
    ['text', 'Small'],
    ['terms', 'on'],
    ['by', 'post'],
  ];
  expect(JSON.parse((await type('label:has([value=post])', 'By post')).title)).toEqual(chosen);
  expect(JSON.parse((await type('[name=terms]', 'false')).title)).toEqual([chosen[0], chosen[2]]);
  const fields = [
    { selector: '[name=terms]', value: 'I agree' },
    { selector: '[value=post]', value: 'post' },
    { selector: 'select', value: 'Extra large' },
  ];
  const sent = await call('browser_fill_and_submit', { fields });
  expect(sent.answer.url).toBe(`${site.url}/echo?text=xl&terms=on&by=post`);
});

test('a tab that a link opens is announced, and can be gone to', async () => {
  await show(`<a target=_blank href="${site.url}/login">Log in</a>`);
  const { answer } = await call('browser_click', { selector: 'a' });
  expect(answer.notes).toEqual([expect.stringContaining(`A new tab opened: 1: ${site.url}/login.`)]);
  await callText(client, 'browser_tabs', { action: 'select', index: 1 });
  expect((await call('browser_get_content', { format: 'text' })).answer.title).toBe('Log in');
  await callText(client, 'browser_tabs', { action: 'close', index: 1 });
});

test('content has what frames and open shadow roots show, with selectors that work there', async () => {
  const other = site.url.replace('127.0.0.1', 'localhost');
  await call('browser_navigate', { url: `${site.url}/frames` });
  const contentIn = async (format: string) => (await call('browser_get_content', { format })).answer;
  for (const format of ['text', 'html']) {
    const { content } = await contentIn(format);
    for (const text of ['Frames', 'In the frame', 'In the shadow', 'User name', `frame ${other}/login`])
      expect(content, format).toContain(text);
    expect(content).not.toMatch(/^Nobody|<body>Nobody/m);
  }
  const { links } = await contentIn('links');
  expect(links.map(({ href }: { href: string }) => href)).toEqual([
    'https://example.com/shadow',
    'https://example.com/framed',
  ]);
  const { content, fields, forms, buttons } = await contentIn('accessibility');
  expect(content).toContain('In the frame');
  expect(content).toContain('In the shadow');
  const named = [...fields, ...forms.flatMap((form: { fields: object[] }) => form.fields)];
  expect(named.map(({ label, name }) => label || name)).toEqual(['shady', "It's inside", 'User name', 'Password']);
  for (const { selector } of named)
    expect((await call('browser_type', { selector, text: 'typed' })).answer, selector).toMatchObject({ success: true });
  const tell = buttons.find(({ text }: { text: string }) => text === 'Tell');
  expect((await call('browser_click', { selector: tell.selector })).answer.title).toBe('typed');
  const [{ submit, fields: login }] = forms;
  await call('browser_type', { selector: login[1].selector, text: 'framed' });
  await call('browser_click', { selector: submit.selector });
  expect(site.logins.at(-1)).toEqual({ username: 'typed', password: 'framed' });
});

test('[A2] clicks go to coordinates, scrolling moves the page, pictures show all of it, waiting waits', async () => {
  await show(`<body style="margin:0;height:5000px"><button style="position:absolute;left:100px;top:50px;width:80px;height:40px"
    onclick="document.title='hit'">x</button><script>setTimeout(() => document.body.insertAdjacentHTML('beforeend',
    '<p id=late>late</p>'), 400)</script>`);
  expect((await call('browser_wait', { selector: '#late', ms: 5_000 })).answer.success).toBe(true);
  expect((await call('browser_click', { x: 140, y: 70 })).answer.title).toBe('hit');
  expect((await call('browser_scroll', { direction: 'down' })).answer.scrollY).toBe(500);
  expect((await call('browser_scroll', { direction: 'up', amount: 200 })).answer.scrollY).toBe(300);
  expect((await call('browser_scroll', { direction: 'down', amount: 99_999 })).answer.atEnd).toBe(true);
  const sizeOf = async (args: object) => {
    const { content } = await call('browser_screenshot', { ...args });
    const picture = content.find(({ type }) => type === 'image');
    expect(picture?.mimeType).toBe('image/png');
    const bytes = Buffer.from(picture?.data ?? '', 'base64');
    return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
  };
  expect(await sizeOf({})).toEqual({ width: 1920, height: 1080 });
  expect((await sizeOf({ fullPage: true })).height).toBeGreaterThanOrEqual(5000);
  const startMs = performance.now();
  await call('browser_wait', { ms: 300 });
  expect(performance.now() - startMs).toBeGreaterThan(290);
  await callText(client, 'browser_close');
  expect((await call('browser_get_content', { format: 'text' })).answer.url).toBe('about:blank');
});

test('a dialog does not hang a call, and can be answered', async () => {
  await call('browser_navigate', { url: `${site.url}/alert` });
  const clicked = await call('browser_click', { selector: 'button' });
  expect(clicked.answer.hints).toEqual([expect.stringContaining('browser_handle_dialog')]);
  expect((await call('browser_get_content')).failed).toBe(true);
  await callText(client, 'browser_handle_dialog', { accept: true });
  expect((await call('browser_get_content', { format: 'text' })).answer.title).toBe('Alert');
});

test('one set has both side by side: a shared name takes the arguments of either, and all act on the same tab', async () => {
  const other = await startRunner(controller, { [ENV.toolset]: 'both' });
  const { token, mcpToken } = await controller.assignment(other);
  await other.post('/assign', { token });
  const both = await connect(other.url, mcpToken);
  try {
    const { tools } = await both.listTools();
    const names = tools.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(
      expect.arrayContaining(['browser_snapshot', 'browser_get_content', 'browser_login', 'browser_open']),
    );
    const typing = tools.find(({ name }) => name === 'browser_type');
    expect(typing?.inputSchema.required).toEqual(['text']);
    await callText(both, 'browser_navigate', { url: `${site.url}/` });
    await callText(both, 'browser_tabs', { action: 'new', url: `${site.url}/login` });
    expect(JSON.parse(await callText(both, 'browser_get_content', { format: 'text' })).title).toBe('Log in');
    await callText(both, 'browser_tabs', { action: 'select', index: 0 });
    expect(JSON.parse(await callText(both, 'browser_get_content', { format: 'text' })).title).toBe('Shop');
    // By selector and by coordinates as in the compatible set, by ref as in Playwright MCP's.
    const html = `<input id=i><button style="position:fixed;left:100px;top:50px;width:80px;height:40px" onclick="document.title+='!'">x</button>`;
    await callText(both, 'browser_navigate', {
      url: `data:text/html,<title>Clicks</title>${encodeURIComponent(html)}`,
    });
    expect(JSON.parse(await callText(both, 'browser_click', { selector: 'button' })).title).toBe('Clicks!');
    expect(JSON.parse(await callText(both, 'browser_click', { x: 140, y: 70 })).title).toBe('Clicks!!');
    expect(await callText(both, 'browser_click', { target: 'button' })).toContain('### Snapshot');
    expect(JSON.parse(await callText(both, 'browser_type', { selector: '#i', text: 'a' })).success).toBe(true);
    expect(JSON.parse(await callText(both, 'browser_get_content', { format: 'text' })).title).toBe('Clicks!!!');
  } finally {
    await both.close();
    await other.dispose();
  }
});
