import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { CODE_META } from '../../contract/tool-failure.ts';
import { TOKENS_DEFAULT } from '../../runner/budget/fit.ts';
import { textOf } from '../../runner/results/result.ts';
import { eventually } from '../eventually.ts';
import { tokensOf } from '../tokens/tokens.ts';
import { type LeasedRunner, startLease } from './start-lease.ts';

const NOISY = `<!doctype html><title>Noisy</title>
<button id=one onclick="console.log('clicked'); console.error('broken'); throw new Error('thrown')">One</button>
<button id=many onclick="for (let i = 0; i < 40; i++) console.log('line ' + i + ' ' + 'x'.repeat(1000)); console.error('last')">Many</button>
<a href="/file" download="report.txt">File</a>
<input id=name><input id=password type=password>
<button id=leak onclick="console.log('it is ' + password.value)">Leak</button>
<script>console.warn('while it loaded')</script>`;
/** Too long for an answer, whatever is asked of it. */
const LONG = `<!doctype html><title>Long</title><main>${Array.from({ length: 3_000 }, (_, n) => `<p><b>Loaf ${n}</b> of rye</p>`).join('')}</main>
<script>for (let n = 0; n < 300; n += 1) { console.error('error ' + n + ' of the oven'); fetch((n ? '/?' : '/long?') + n + 'x'.repeat(100)) }</script>`;
/** As a server answers with a log, or with JSON. */
const HUGE = `<!doctype html><title>Log</title><p>before</p><pre>${'a line of the log '.repeat(150_000)}the very end</pre><p>after</p>`;
const FORM =
  '<!doctype html><title>Form</title><form action="/"><label>Email <input id=mail type=email required></label><button id=send>Send</button></form>';
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';

let site: Server;
let lease: LeasedRunner;
let url: string;
const clients: Client[] = [];
beforeAll(async () => {
  site = createServer(({ url: path }, response) =>
    response
      .writeHead(path === '/missing' ? 404 : 200, { 'content-type': 'text/html' })
      .end(path === '/huge' ? HUGE : path === '/form' ? FORM : path?.startsWith('/long') ? LONG : NOISY),
  );
  await once(site.listen(0, '127.0.0.1'), 'listening');
  url = `http://127.0.0.1:${(site.address() as AddressInfo).port}/`; // a TCP server has a port
  lease = await startLease({
    recordVideo: false,
    toolset: 'both',
    env: { [ENV.insecureLoginOrigins]: new URL(url).origin },
  });
});
afterAll(async () => {
  for (const client of clients) await client.close();
  await lease?.[Symbol.asyncDispose]();
  site?.closeAllConnections();
  site?.close();
});

/** For either revision. */
async function connect(mode: 'auto' | 'legacy'): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  const requestInit = { headers: { authorization: `Bearer ${lease.mcpToken}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${lease.runner.url}/mcp`), { requestInit }));
  clients.push(client);
  return client;
}

async function call(name: string, args: Record<string, unknown> = {}): Promise<string> {
  return textOf((await lease.client.callTool({ name, arguments: args })) as Parameters<typeof textOf>[0]); // the tool-result shape of the protocol
}

test('console messages that an action causes are in the result of that action, and in no other', async () => {
  expect(await call('browser_navigate', { url })).toMatch(/Console:\n\[WARNING\] while it loaded$/);
  const clicked = await call('browser_click', { target: '#one' });
  expect(clicked).toMatch(/Console:\n\[ERROR\] broken\n\[ERROR\] Error: thrown\n\[LOG\] clicked$/);
  expect(await call('browser_press_key', { key: 'Tab' })).not.toMatch(/^Console:$/m);
});

test('a form that the browser keeps back says which field is why, until it fits', async () => {
  await call('browser_navigate', { url: `${url}form` });
  const keptBack = 'The form is not sent while "Email" is as it is: ';
  expect(await call('browser_click', { target: '#send' })).toContain(`${keptBack}Please fill out this field.`);
  expect(await call('browser_type', { target: '#mail', text: 'ada' })).toContain(`${keptBack}Please include an '@'`);
  expect(await call('browser_type', { target: '#mail', text: 'ada@shop.test' })).not.toContain(keptBack);
  const sent = await call('browser_click', { target: '#send' });
  expect(sent).toContain('Page Title: Noisy');
  expect(sent).not.toContain(keptBack);
});

test('a console that floods costs a result a few lines, its errors first', async () => {
  await call('browser_navigate', { url });
  const [, written = ''] = (await call('browser_click', { target: '#many' })).split('Console:\n');
  expect(written).toMatch(/^\[ERROR\] last\n\[LOG\] line 0/);
  expect(written).toMatch(/\nand 36 more$/);
  expect(written.length).toBeLessThan(1_600);
});

test('no result names a file of the runner', async () => {
  const texts = [
    await call('browser_navigate', { url }),
    await call('browser_click', { target: '#one' }),
    await call('browser_click', { target: 'a' }),
  ];
  await eventually('the download', async () => {
    texts.push(await call('browser_take_screenshot'));
    return /^Downloaded file report\.txt$/m.test(texts.join('\n'));
  });
  for (const text of texts) expect(text).not.toMatch(/\.log|\.png|\.\/|omicron-runner/);
});

test('[M4] a result that is JSON is there as structured content too, and fits its schema', async () => {
  const client = await connect('auto');
  const { tools } = await client.listTools();
  expect(tools.find(({ name }) => name === 'browser_get_content')?.outputSchema).toMatchObject({ type: 'object' });
  for (const [name, args] of [
    ['browser_open', { url }],
    ['browser_get_content', { format: 'accessibility' }],
    ['browser_get_content', { format: 'links' }],
    ['browser_scroll', { direction: 'down' }],
    ['browser_screenshot', {}],
    ['browser_wait', { ms: 1 }],
    ['browser_wait', { selector: '#none', ms: 1 }],
  ] as const) {
    // The client checks the schema of each tool that it has listed.
    const result = await client.callTool({ name, arguments: args });
    expect(result.structuredContent, name).toEqual(JSON.parse(textOf(result)));
  }
  const snapshot = await client.callTool({ name: 'browser_snapshot', arguments: {} });
  expect(snapshot.structuredContent).toBeUndefined();
});

test('[M5] every answer stays within its budget, by default and as its call asks, and says what it lacks', async () => {
  await call('browser_navigate', { url: `${url}long` });
  await call('browser_wait_for', { time: 1 });
  const requests = await call('browser_network_requests', { tokensMax: 100_000 });
  const index = Number(/^(\d+)\. \[GET\] \S+\/long\?/m.exec(requests)?.[1]);
  for (const [name, args] of [
    ['browser_snapshot', { snapshot: 'playwright' }],
    ['browser_find', { text: 'Loaf' }],
    ['browser_get_content', { format: 'text' }],
    ['browser_get_content', { format: 'html' }],
    ['browser_get_content', { format: 'accessibility' }],
    ['browser_evaluate', { function: '() => document.body.outerHTML' }],
    ['browser_console_messages', { level: 'error' }],
    ['browser_network_requests', {}],
    ['browser_network_request', { index, part: 'response-body' }],
  ] as const) {
    for (const tokensMax of [undefined, 500]) {
      const text = await call(name, { ...args, ...(tokensMax && { tokensMax }) });
      // Tokens are estimated, and never below 0.9 of what they are.
      expect(tokensOf(text), name).toBeLessThanOrEqual((tokensMax ?? TOKENS_DEFAULT) / 0.9);
      expect(text, name).toMatch(/tokensMax|more|browser_find/);
    }
  }
  // The own writer collapses what is alike, and needs no cut.
  const whole = await call('browser_snapshot');
  expect(tokensOf(whole)).toBeLessThanOrEqual(TOKENS_DEFAULT / 0.9);
  expect(whole).toMatch(/browser_find/);
});

test.each(['auto', 'legacy'] as const)(
  '[M4] a client (%s) that sent a token hears that a long call runs',
  async mode => {
    const client = await connect(mode);
    const heard: { progress: number; message?: string | undefined }[] = [];
    await client.callTool(
      { name: 'browser_wait_for', arguments: { time: 1.5 } },
      { onprogress: progress => void heard.push(progress) },
    );
    expect(heard).toEqual([{ progress: 1, message: 'browser_wait_for has run for 1 s' }]);
  },
);

test.each(['auto', 'legacy'] as const)(
  '[M6] the timeline has the span of a call below its client’s (%s)',
  async mode => {
    const client = await connect(mode);
    const before = lease.controller.events.length;
    await client.callTool({
      name: 'browser_snapshot',
      arguments: {},
      _meta: { traceparent: `00-${TRACE}-${PARENT}-01` },
    });
    await client.callTool({ name: 'browser_snapshot', arguments: {}, _meta: { traceparent: `00-${TRACE}-none-01` } });
    const [below, own] = await eventually('both events', () => {
      const calls = lease.controller.events.slice(before).filter(({ data }) => data.tool === 'browser_snapshot');
      return calls.length === 2 && calls;
    });
    expect(below?.data).toMatchObject({
      trace_id: TRACE,
      parent_span_id: PARENT,
      span_id: expect.stringMatching(/^[\da-f]{16}$/),
    });
    expect(own?.data).toMatchObject({ trace_id: expect.not.stringContaining(TRACE) });
    expect(own?.data).not.toHaveProperty('parent_span_id');
  },
);

test('[A7] the timeline has the address and the title of the page that a call leaves, and the status of a document that came', async () => {
  const before = lease.controller.events.length;
  await call('browser_navigate', { url: `${url}missing` });
  await call('browser_get_content', { format: 'text' });
  const [went, read] = await eventually('both events', () => {
    const calls = lease.controller.events.slice(before).filter(({ kind }) => kind === 'tool.call');
    return calls.length === 2 && calls;
  });
  expect(went?.data).toMatchObject({ tool: 'browser_navigate', url: `${url}missing`, title: 'Noisy', status: 404 });
  expect(read?.data).toMatchObject({ tool: 'browser_get_content', url: `${url}missing`, title: 'Noisy' });
  expect(read?.data).not.toHaveProperty('status');
});

test('a snapshot has the beginning of a text of megabytes and says how much more there is; browser_find reaches its end', async () => {
  const shown = await call('browser_navigate', { url: `${url}huge` });
  expect(shown).toMatch(/text: before|paragraph.*before/);
  expect(tokensOf(shown)).toBeLessThanOrEqual(TOKENS_DEFAULT);
  const more = await call('browser_snapshot', { tokensMax: 100_000 });
  expect(more).toMatch(/log a line of the log .*… \((?:2[56]\d\d\d\d\d) more characters; browser_find searches them\)/);
  expect(more).toContain('after');
  expect(await call('browser_find', { text: 'the very end', tokensMax: 100_000 })).toContain('Found 1 match');
});

test('once a password was filled in, results hold nothing of any console', async () => {
  await call('browser_navigate', { url });
  expect(await call('browser_type', { target: '#password', text: 'SHOP_PASSWORD' })).not.toContain('### Error');
  const clicked = await call('browser_click', { target: '#leak' });
  expect(clicked).toContain('### Snapshot');
  expect(clicked).not.toMatch(/^Console:$|it is/m);
  expect(await call('browser_navigate', { url })).not.toMatch(/^Console:$/m);
});

test('wrong arguments and unknown refs have a code in every tool of the default toolset', async () => {
  const { tools } = await lease.client.listTools();
  await call('browser_navigate', { url });
  const codeOf = async (name: string, args: Record<string, unknown>) => {
    const { isError, _meta } = await lease.client.callTool({ name, arguments: args });
    return { name, isError, code: _meta?.[CODE_META] };
  };
  for (const { name, inputSchema } of tools) {
    if (!inputSchema.required?.length) continue;
    expect(await codeOf(name, {})).toEqual({ name, isError: true, code: 'invalid_arguments' });
  }
  for (const [name, args] of [
    ['browser_click', {}],
    ['browser_hover', {}],
    ['browser_type', { text: 'x' }],
    ['browser_select_option', { values: ['x'] }],
    ['browser_evaluate', { function: 'e => e.id' }],
    ['browser_take_screenshot', {}],
    ['browser_snapshot', {}],
  ] as const)
    expect(await codeOf(name, { ...args, target: 'e4711' })).toEqual({
      name,
      isError: true,
      code: 'element_not_found',
    });
  for (const [name, args] of [
    ['browser_take_screenshot', { type: 'gif' }],
    ['browser_tabs', { action: 'select', index: 99 }],
    ['browser_tabs', { action: 'select' }],
    ['browser_network_request', { index: 999 }],
    ['browser_resize', { width: -1, height: 100 }],
    ['browser_wait_for', {}],
  ] as const)
    expect(await codeOf(name, args)).toEqual({ name, isError: true, code: 'invalid_arguments' });
  const thrown = await codeOf('browser_evaluate', { function: '() => { throw new Error("boom") }' });
  expect(thrown).toMatchObject({ isError: true, code: 'action_failed' });
});

test.each([
  ['address_closed', 'browser_navigate', { url: 'file:///etc/passwd' }],
  ['element_not_found', 'browser_evaluate', { function: 'e => e.id', target: '#none' }],
  ['invalid_arguments', 'browser_snapshot', { tokensMax: 1 }],
  ['name_misplaced', 'browser_select_option', { target: '#one', text: 'SHOP_PASSWORD', values: [] }],
  ['session_mismatch', 'browser_snapshot', { sessionId: crypto.randomUUID() }],
  ['unknown_tool', 'browser_fly', {}],
] as const)('a call that is refused (%s) is told its code, why, and what to do instead', async (code, name, args) => {
  await call('browser_navigate', { url });
  const result = await lease.client.callTool({ name, arguments: args });
  const text = textOf(result as Parameters<typeof textOf>[0]); // the tool-result shape of the protocol
  expect(result).toMatchObject({ isError: true, _meta: { [CODE_META]: code } });
  expect(JSON.parse(text)).toMatchObject({
    success: false,
    error: { code, message: expect.any(String) },
    hints: [expect.any(String)],
  });
  expect(result.structuredContent).toEqual(JSON.parse(text));
});

test('a client that accepts anything is answered as one that names the types', async () => {
  for (const accept of ['*/*', 'text/html, */*;q=0.5']) {
    const response = await fetch(`${lease.runner.url}/mcp`, {
      method: 'POST',
      headers: { authorization: `Bearer ${lease.mcpToken}`, 'content-type': 'application/json', accept },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    });
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('browser_navigate')]);
  }
});
