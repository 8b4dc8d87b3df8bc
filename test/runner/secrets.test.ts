import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { runnerTempDir } from '../../runner/browser/temp-dir.ts';
import { eventually } from '../eventually.ts';
import { type FakeController, startFakeController } from '../fakes/controller.ts';
import { type Site, startSite } from '../site/site.ts';
import { callText, connect, type RunnerProcess, startRunner } from './start.ts';

let site: Site;
let controller: FakeController;
let runner: RunnerProcess;
let client: Client;
let username: string;
let password: string;
beforeAll(async () => {
  site = await startSite();
  controller = await startFakeController();
  username = controller.secrets.SHOP_USERNAME ?? '';
  password = controller.secrets.SHOP_PASSWORD ?? '';
  runner = await startRunner(controller, { [ENV.insecureLoginOrigins]: site.url });
  const { token, mcpToken } = await controller.assignment(runner);
  await runner.post('/assign', { token });
  client = await connect(runner.url, mcpToken);
});
afterAll(async () => {
  await client.close();
  await runner.dispose();
  await controller.close();
  await site.close();
});

test('the agent gets the names, never a value', () => {
  const instructions = client.getInstructions() ?? '';
  expect(instructions).toContain('SHOP_USERNAME');
  expect(instructions).toContain('SHOP_PASSWORD');
  expect(instructions).not.toContain(password);
});

test('a text that is formed as a name and is none is refused, by each tool, and typed nowhere', async () => {
  await callText(client, 'browser_navigate', { url: `${site.url}/login` });
  const target = 'input[name=password]';
  const field = { target, name: 'Password', type: 'textbox', value: 'BAKERY_PASSWORD' };
  expect(await callText(client, 'browser_type', { target, text: 'BAKERY_PASSWORD' })).toContain('credential_unknown');
  expect(await callText(client, 'browser_fill_form', { fields: [field] })).toContain('credential_unknown');
  const value = await callText(client, 'browser_evaluate', {
    function: '() => document.querySelector("[name=password]").value.length',
  });
  expect(value).toMatch(/^### Result\n0$/m);
  expect(await callText(client, 'browser_type', { target: 'input[name=username]', text: 'MY_USER' })).not.toContain(
    'credential_unknown',
  );
});

test('names are replaced by values on the page, and values by names in every result', async () => {
  const seen: string[] = [];
  const call = async (name: string, args: Record<string, unknown>) => {
    const text = await callText(client, name, args);
    seen.push(text);
    return text;
  };
  await call('browser_navigate', { url: `${site.url}/login` });
  await call('browser_type', { target: 'input[name=username]', text: 'SHOP_USERNAME' });
  const values = '() => [...document.querySelectorAll("input")].map(i => i.value).join("|")';
  expect(await call('browser_evaluate', { function: values })).toContain('<secret>SHOP_USERNAME</secret>');
  // Code that this script left behind could read the filled value.
  expect(await call('browser_type', { target: 'input[name=password]', text: 'SHOP_PASSWORD' })).toContain(
    'scripted_document',
  );
  await call('browser_navigate', { url: `${site.url}/login` });
  await call('browser_type', { target: 'input[name=username]', text: 'SHOP_USERNAME' });
  const field = { target: 'input[name=password]', name: 'Password', type: 'textbox', value: 'SHOP_PASSWORD' };
  await call('browser_fill_form', { fields: [field] });
  // A script could take the value apart in ways that no search finds.
  expect(await call('browser_evaluate', { function: values })).toContain('secret_on_page');
  expect(await call('browser_snapshot', {})).toContain('<secret>SHOP_PASSWORD</secret>');
  expect(await call('browser_click', { target: 'button' })).toContain('Hello <secret>SHOP_USERNAME</secret>!');
  expect(site.logins).toEqual([{ username, password }]);
  await call('browser_navigate', { url: `${site.url}/echo?text=${encodeURIComponent(password)}` });
  await call('browser_navigate', {
    url: `${site.url}/echo?text=${encodeURIComponent(`x ${password} y`).replaceAll('%20', '+')}`,
  });
  await call('browser_evaluate', {
    function: `() => { console.error(${JSON.stringify(password)}); return document.body.outerHTML; }`,
  });
  await call('browser_console_messages', { level: 'error' });
  await call('browser_network_requests', { static: true });
  await call('browser_network_request', { index: 1 });
  await call('browser_tabs', { action: 'list' });
  for (const text of seen) {
    for (const form of formsOf(password)) expect(text).not.toContain(form);
    expect(text).not.toContain(username);
  }
});

test('no event, log line or file of the runner holds a value', async () => {
  // An agent that knows a value by another way and types it does not bring it into the timeline.
  await callText(client, 'browser_type', { target: 'body', text: `it is ${password}` });
  await callText(client, 'browser_navigate', { url: `http://127.0.0.1:1/${encodeURIComponent(password)}` });
  await eventually('the events', () =>
    controller.events.find(({ data }) => String(data.error).includes('ERR_UNSAFE_PORT')),
  );
  const events = JSON.stringify(controller.events);
  expect(events).toContain('tool.call');
  expect(events).toContain('SHOP_PASSWORD');
  const files = readdirSync(runnerTempDir(runner.runnerId), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && !entry.parentPath.includes('profile'))
    .map(entry => readFileSync(join(entry.parentPath, entry.name), 'utf8'));
  for (const text of [events, runner.output(), ...files])
    for (const form of [...formsOf(password), ...formsOf(username)]) expect(text).not.toContain(form);
  // Nor does the process list, nor the environment of the browser.
  for (const pid of [runner.child.pid, runner.browserPid()])
    for (const file of ['cmdline', 'environ'])
      expect(readFileSync(`/proc/${pid}/${file}`, 'utf8')).not.toContain(password);
});

test('every call is on the timeline with its arguments, outcome and duration; pictures are not', async () => {
  // The address of the page before holds the password.
  await callText(client, 'browser_navigate', { url: site.url });
  await callText(client, 'browser_take_screenshot');
  const long = 'x'.repeat(10_000);
  await callText(client, 'browser_evaluate', { function: `() => ${JSON.stringify(long)}.length` });
  const event = await eventually('the event', () =>
    controller.events.find(({ data }) => String(JSON.stringify(data.arguments)).includes('xxx')),
  );
  expect(event.kind).toBe('tool.call');
  expect(event.data).toMatchObject({ tool: 'browser_evaluate', outcome: 'ok', duration_ms: expect.any(Number) });
  expect(JSON.stringify(event.data).length).toBeLessThan(3_000);
  expect(JSON.stringify(controller.events)).not.toContain('iVBORw0KGgo');
  const loaded = controller.events.find(({ kind }) => kind === 'secrets.loaded');
  expect(loaded?.data).toEqual({ names: ['SHOP_USERNAME', 'SHOP_PASSWORD'] });
});

const formsOf = (value: string): string[] => [
  value,
  JSON.stringify(value).slice(1, -1),
  encodeURIComponent(value),
  value.replaceAll('&', '&amp;'),
];
