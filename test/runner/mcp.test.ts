import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { CODE_META } from '../../contract/tool-failure.ts';
import { runnerTempDir } from '../../runner/browser/temp-dir.ts';
import { eventually } from '../eventually.ts';
import { bufferingProxy } from '../fakes/buffering-proxy.ts';
import { type FakeController, startFakeController } from '../fakes/controller.ts';
import { type Site, startSite } from '../site/site.ts';
import { callText, connect, type RunnerProcess, startRunner } from './start.ts';

let site: Site;
let controller: FakeController;
let runner: RunnerProcess;
let mcpToken: string;
let client: Client;
beforeAll(async () => {
  site = await startSite();
  controller = await startFakeController();
  runner = await startRunner(controller);
  const assigned = await controller.assignment(runner);
  mcpToken = assigned.mcpToken;
  await runner.post('/assign', { token: assigned.token });
});
afterAll(async () => {
  await runner.dispose();
  await controller.close();
  await site.close();
});
beforeEach(async () => {
  client = await connect(runner.url, mcpToken);
});
afterEach(async () => {
  await client.callTool({ name: 'browser_close', arguments: {} });
  await client.close();
});

test('a client that reconnects finds the same cookies, tabs and current tab', async () => {
  await callText(client, 'browser_navigate', { url: `${site.url}/login` });
  await callText(client, 'browser_type', { target: 'input[name=username]', text: 'bob', submit: true });
  await callText(client, 'browser_tabs', { action: 'new', url: `${site.url}/` });
  await client.close();
  client = await connect(runner.url, mcpToken);
  const tabs = await callText(client, 'browser_tabs', { action: 'list' });
  expect(tabs).toMatch(/0: \[Account\].*\n- 1: \(current\) \[Shop\]/);
  expect(await callText(client, 'browser_navigate', { url: `${site.url}/account` })).toContain('Hello bob!');
});

test('[N9] behind a proxy that buffers, clients that come and go have one browser and its tabs', async () => {
  await using proxy = await bufferingProxy(runner.url);
  const first = await connect(proxy.url, mcpToken);
  await callText(first, 'browser_navigate', { url: `${site.url}/login` });
  await callText(first, 'browser_type', { target: 'input[name=username]', text: 'bob', submit: true });
  const second = await connect(proxy.url, mcpToken);
  const [opened] = await Promise.all([
    callText(second, 'browser_tabs', { action: 'new', url: `${site.url}/` }),
    callText(first, 'browser_wait_for', { time: 1 }),
  ]);
  expect(opened).toContain('(current) [Shop]');
  await first.close();
  await second.close();
  const again = await connect(proxy.url, mcpToken);
  expect(await callText(again, 'browser_tabs', { action: 'list' })).toMatch(
    /0: \[Account\].*\n- 1: \(current\) \[Shop\]/,
  );
  await again.close();
});

test('several clients of one lease share the browser, and one that vanishes in a call blocks no other', async () => {
  const second = await connect(runner.url, mcpToken);
  const silent = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`; // a TCP server has a port
  const [abort, cut] = [new AbortController(), new AbortController()];
  const begun = once(silent, 'request');
  const slow = client
    .callTool({ name: 'browser_navigate', arguments: { url: `${url}?slow` } }, undefined, { signal: abort.signal })
    .catch(() => 'gone');
  await begun;
  abort.abort();
  expect(await slow).toBe('gone');
  const begunToo = once(silent, 'request');
  const params = { name: 'browser_navigate', arguments: { url: `${url}?rude` } };
  const rude = fetch(`${runner.url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${mcpToken}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-session-id': (second.transport as { sessionId?: string }).sessionId ?? '', // the SDK's transport has it
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 9, method: 'tools/call', params }),
    signal: cut.signal,
  }).catch(() => 'cut');
  await begunToo;
  cut.abort();
  expect(await rude).toBe('cut');
  const text = await callText(second, 'browser_navigate', { url: `${site.url}/` });
  expect(text).toContain('Welcome.');
  // A call without a waiting client did not run to its end.
  const left = await eventually('both calls in the timeline', () => {
    const found = controller.events.filter(({ data }) => JSON.stringify(data.arguments ?? '').includes(url));
    return found.length === 2 && found;
  });
  for (const { data } of left)
    expect(data).toMatchObject({ error: expect.stringContaining('The call was cancelled.') });
  silent.closeAllConnections();
  silent.close();
  await second.close();
});

test('ten clients at once all get their answers', async () => {
  const clients = await Promise.all(Array.from({ length: 10 }, () => connect(runner.url, mcpToken)));
  const answers = await Promise.all(
    clients.map((one, n) => callText(one, 'browser_navigate', { url: `${site.url}/echo?text=client-${n}-here` })),
  );
  answers.forEach((text, n) => {
    expect(text).toContain(`client-${n}-here`);
  });
  await Promise.all(clients.map(one => one.close()));
});

test('lists only the allowed tools, and refuses the others at call with a reason', async () => {
  const { tools } = await client.listTools();
  const names = tools.map(({ name }) => name);
  expect(names).toContain('browser_navigate');
  expect(names).toContain('browser_mouse_click_xy');
  for (const name of [
    'browser_run_code_unsafe',
    'browser_pdf_save',
    'browser_route',
    'browser_install',
    'constructor',
  ]) {
    expect(names).not.toContain(name);
    const result = await client.callTool({ name, arguments: { code: '() => process.env' } });
    expect(result.isError).toBe(true);
    expect(JSON.stringify(result.content)).toContain('not available');
    expect(result._meta?.['omicron.dev/code']).toBe('unknown_tool');
  }
  for (const tool of tools) expect(Object.keys(tool.inputSchema.properties ?? {})).not.toContain('filename');
});

test('an unknown tool has a stable code and suggests what there is', async () => {
  const result = await client.callTool({ name: 'browser_take_picture', arguments: {} });
  const [first] = result.content as { text: string }[]; // a text part
  expect(JSON.parse(first?.text ?? '')).toEqual({
    success: false,
    error: { code: 'unknown_tool', message: 'The tool "browser_take_picture" is not available.' },
    hints: ['Did you mean browser_take_screenshot?', 'Call tools/list for the available tools.'],
  });
  // A name of a compatible tool is unknown in this toolset.
  const other = await client.callTool({ name: 'browser_get_content', arguments: {} });
  expect(other._meta?.['omicron.dev/code']).toBe('unknown_tool');
});

test('[A5] every result carries the mark of untrusted web content', async () => {
  const good = await client.callTool({ name: 'browser_navigate', arguments: { url: site.url } });
  const bad = await client.callTool({ name: 'browser_navigate', arguments: { url: 'http://127.0.0.1:1/' } });
  expect(good._meta).toEqual({ 'omicron.dev/untrusted': true });
  expect(bad._meta).toMatchObject({ 'omicron.dev/untrusted': true });
  expect(bad.isError).toBe(true);
});

test('a result after an action shows the page, in the answer itself', async () => {
  await callText(client, 'browser_navigate', { url: site.url });
  const text = await callText(client, 'browser_click', { target: 'a[href="/login"]' });
  expect(text).toContain('Page URL: ');
  expect(text.match(/### Page/g)).toHaveLength(1);
  expect(text).toMatch(/textbox "Password" \[ref=\w+\]/);
});

test('a screenshot comes back as a picture', async () => {
  await callText(client, 'browser_navigate', { url: site.url });
  const result = await client.callTool({ name: 'browser_take_screenshot', arguments: { fullPage: true, type: 'png' } });
  const content = result.content as { type: string; data?: string }[]; // the tool-result shape of the protocol
  const picture = Buffer.from(content.find(part => part.type === 'image')?.data ?? '', 'base64');
  expect(picture.subarray(1, 4).toString()).toBe('PNG');
  expect(picture.readUInt32BE(16)).toBe(1920);
});

test('a screenshot of what is visible is a JPEG unless another type is asked for', async () => {
  await callText(client, 'browser_navigate', { url: site.url });
  const typeOf = async (args: Record<string, unknown>) => {
    const { content } = await client.callTool({ name: 'browser_take_screenshot', arguments: args });
    const [picture] = content as { data: string; mimeType: string }[]; // one image part
    return [
      picture?.mimeType,
      Buffer.from(picture?.data ?? '', 'base64')
        .subarray(0, 4)
        .toString('latin1'),
    ];
  };
  expect(await typeOf({})).toEqual(['image/jpeg', expect.stringMatching(/^\xff\xd8\xff/)]);
  expect(await typeOf({ type: 'png' })).toEqual(['image/png', '\x89PNG']);
});

test('a ref or a selector that names nothing is refused at once, with what to do', async () => {
  await callText(client, 'browser_navigate', { url: site.url });
  const answers = [
    await callText(client, 'browser_click', { target: 'e4711' }),
    await callText(client, 'browser_click', { target: 'f9e1' }),
    await callText(client, 'browser_type', { target: '#none', text: 'x' }),
  ];
  expect(answers).toEqual([
    expect.stringMatching(/"element_not_found".*e4711.* names no element of the page now.*Take a snapshot/),
    expect.stringMatching(/"element_not_found".*f9e1.* names no element of the page now.*Take a snapshot/),
    expect.stringMatching(/"element_not_found".*#none.* names no element of the page now.*Take a snapshot/),
  ]);
  // Playwright would wait five seconds for each of them, and say so.
  expect(answers.join('\n')).not.toMatch(/timeout|timed out/i);
});

test('actions are made in the tab that was selected, and in the one that is left when it closes', async () => {
  await callText(client, 'browser_navigate', { url: site.url });
  await callText(client, 'browser_tabs', { action: 'new' });
  await callText(client, 'browser_navigate', { url: `${site.url}/login` });
  const where = () => callText(client, 'browser_evaluate', { function: '() => location.pathname' });
  expect(await where()).toContain('"/login"');
  await callText(client, 'browser_tabs', { action: 'select', index: 0 });
  expect(await where()).toContain('"/"');
  await callText(client, 'browser_tabs', { action: 'close', index: 0 });
  expect(await where()).toContain('"/login"');
});

test('the list of requests begins with the last navigation', async () => {
  await callText(client, 'browser_navigate', { url: `${site.url}/login` });
  await callText(client, 'browser_navigate', { url: `${site.url}/` });
  const list = await callText(client, 'browser_network_requests', { static: true });
  expect(list).toContain(`${site.url}/ `);
  expect(list).not.toContain('/login');
});

test('a client that offers roots is never asked for them, and is answered without a stream', async () => {
  const headers = {
    authorization: `Bearer ${mcpToken}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  const send = (body: object, session?: string) =>
    fetch(`${runner.url}/mcp`, {
      method: 'POST',
      headers: session === undefined ? headers : { ...headers, 'mcp-session-id': session },
      body: JSON.stringify({ jsonrpc: '2.0', ...body }),
    });
  const capabilities = { roots: { listChanged: true } };
  const params = { protocolVersion: '2025-06-18', capabilities, clientInfo: { name: 't', version: '1' } };
  const opened = await send({ id: 1, method: 'initialize', params });
  const session = opened.headers.get('mcp-session-id') ?? '';
  await send({ method: 'notifications/initialized' }, session);
  const call = { name: 'browser_tabs', arguments: { action: 'list' } };
  const answer = await (await send({ id: 2, method: 'tools/call', params: call }, session)).text();
  expect(answer).toContain('about:blank');
  expect(answer).not.toContain('roots/list');
  // Requests of a server to its client outside of a call would come by this stream.
  const stream = await fetch(`${runner.url}/mcp`, { headers: { ...headers, 'mcp-session-id': session } });
  expect(stream.status).toBe(405);
});

test('browser_close closes the tabs down to a blank one, and the lease lives on', async () => {
  await callText(client, 'browser_navigate', { url: site.url });
  await callText(client, 'browser_tabs', { action: 'new', url: `${site.url}/login` });
  await callText(client, 'browser_close');
  await callText(client, 'browser_close');
  expect(await callText(client, 'browser_tabs', { action: 'list' })).toContain('- 0: (current) [](about:blank)');
  expect(await callText(client, 'browser_navigate', { url: site.url })).toContain('Welcome.');
});

test.each([
  'file:///etc/passwd',
  'view-source:http://127.0.0.1/',
  'chrome://version',
  'devtools://devtools/bundled/inspector.html',
  'ftp://127.0.0.1/',
  'FILE:///etc/passwd',
  'javascript:alert(1)',
])('the address %s is closed to an agent', async url => {
  for (const [name, args] of [
    ['browser_navigate', { url }],
    ['browser_tabs', { action: 'new', url }],
  ] as const) {
    const result = await client.callTool({ name, arguments: args });
    expect(result.isError).toBe(true);
    expect(JSON.stringify(result.content)).toContain('closed here');
  }
});

test.each(['file:///etc/passwd', 'chrome://version/', 'view-source:http://127.0.0.1/'])(
  'a page does not get to %s by location, redirect, window.open or iframe',
  async url => {
    await callText(client, 'browser_navigate', { url: site.url });
    await callText(client, 'browser_navigate', { url: `${site.url}/redirect?to=${encodeURIComponent(url)}` });
    await callText(client, 'browser_navigate', { url: site.url });
    const script = `() => { const f = document.createElement('iframe'); f.src = ${JSON.stringify(url)}; document.body.append(f);
      window.open(${JSON.stringify(url)}); location.href = ${JSON.stringify(url)}; }`;
    await callText(client, 'browser_evaluate', { function: script });
    await callText(client, 'browser_wait_for', { time: 0.3 });
    const tabs = await callText(client, 'browser_tabs', { action: 'list' });
    expect(tabs).not.toMatch(/\((file|chrome|view-source):/);
    expect(await callText(client, 'browser_snapshot')).not.toContain('root:');
  },
);

test('an agent cannot upload a file of the machine', async () => {
  const secret = join(tmpdir(), `omicron-test-secret-${process.pid}`);
  writeFileSync(secret, 'top secret');
  await callText(client, 'browser_navigate', { url: `data:text/html,<input type=file>` });
  for (const path of [secret, '/etc/passwd', join(runnerTempDir(runner.runnerId), 'browser.pid'), '../browser.pid']) {
    await callText(client, 'browser_click', { target: 'input' });
    const result = await client.callTool({ name: 'browser_file_upload', arguments: { paths: [path] } });
    expect(result.isError).toBe(true);
    await callText(client, 'browser_file_upload', {});
  }
});

test('a page that opens tabs without end is stopped', async () => {
  await callText(client, 'browser_navigate', { url: `${site.url}/popups` });
  await callText(client, 'browser_click', { target: 'button' });
  const tabs = await eventually('the tabs beyond the limit to be closed', async () => {
    const text = await callText(client, 'browser_tabs', { action: 'list' });
    const count = text.match(/^- \d+:/gm)?.length ?? 0;
    // A tab that closes while it is listed makes the list an error.
    return count > 1 && count <= 20 && count;
  });
  expect(tabs).toBeLessThanOrEqual(20);
});

test('a dialog is reported to the agent and can be answered', async () => {
  await callText(client, 'browser_navigate', { url: `${site.url}/alert` });
  expect(await callText(client, 'browser_click', { target: 'button' })).toContain(
    '"alert" dialog with message "hello"',
  );
  await callText(client, 'browser_handle_dialog', { accept: true });
  expect(await callText(client, 'browser_snapshot')).toContain('Alert');
});

test('an action that runs out of time says so under its name, and the next call is served', async () => {
  await callText(client, 'browser_navigate', { url: `data:text/html,<button disabled>No</button>` });
  const result = await client.callTool({ name: 'browser_click', arguments: { target: 'button' } });
  expect(result.isError).toBe(true);
  expect(result._meta).toMatchObject({ [CODE_META]: 'browser_action_timeout:browser_click:5s' });
  expect(await callText(client, 'browser_navigate', { url: site.url })).toContain('Welcome.');
});

test("a script's answer of 50 MB is the script's error, and the lease lives on", async () => {
  await callText(client, 'browser_navigate', { url: `${site.url}/` });
  const evaluate = (script: string) => callText(client, 'browser_evaluate', { function: script });
  expect(await evaluate(`() => 'x'.repeat(5e7)`)).toContain("Error: The script's answer is longer than 16 MiB");
  expect(await evaluate(`() => 'x'.repeat(10)`)).toContain('xxxxxxxxxx');
  expect(await callText(client, 'browser_navigate', { url: `${site.url}/` })).toContain('Shop');
  expect((await runner.health()).body.phase).toBe('leased');
});
