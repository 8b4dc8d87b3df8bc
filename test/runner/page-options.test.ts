import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PageOptions } from '../../contract/page-options.ts';
import { eventually } from '../eventually.ts';
import { watchLive } from './live/viewer.ts';
import { callText } from './start.ts';
import { type LeasedRunner, startLease } from './start-lease.ts';

const PAGE = {
  viewport: { width: 800, height: 600 },
  locale: 'de-CH',
  timezone: 'asia/tokyo',
  color_scheme: 'dark',
  geolocation: { latitude: 47.37, longitude: 8.54, accuracy: 20 },
  user_agent_suffix: 'ExampleAgent/1.0 (+https://example.com)',
  permissions: ['geolocation', 'clipboard-read'],
} as const satisfies PageOptions as PageOptions;

/** Reads the settings that a page sees, and those that its request sent to the site. */
const SEEN = `async () => {
  if (document.readyState !== 'complete') await new Promise(resolve => addEventListener('load', resolve));
  const stateOf = async name => (await navigator.permissions.query({ name })).state;
  const names = ['geolocation', 'clipboard-read', 'clipboard-write', 'notifications', 'camera'];
  return {
    size: [innerWidth, innerHeight],
    languages: navigator.languages,
    number: (1234.5).toLocaleString(),
    timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    dark: matchMedia('(prefers-color-scheme: dark)').matches,
    agent: navigator.userAgent,
    position: await new Promise(resolve => navigator.geolocation.getCurrentPosition(
      ({ coords: { latitude, longitude, accuracy } }) => resolve([latitude, longitude, accuracy]), ({ code }) => resolve(code))),
    permissions: Object.fromEntries(await Promise.all(names.map(async name => [name, await stateOf(name)]))),
    notifications: await Notification.requestPermission(),
    early: globalThis.early,
    headers: JSON.parse(document.getElementById('headers')?.textContent ?? '{}'),
  };
}`;

let site: Server;
let url: string;
let lease: LeasedRunner;
beforeAll(async () => {
  // the first script of a document sees what later ones do
  const early = 'globalThis.early = [navigator.language, new Date(0).getHours(), innerWidth]';
  site = createServer(({ headers }, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(
      `<!doctype html><script>${early}</script><title>Seen</title><pre id=headers>${JSON.stringify(headers)}</pre>
      <button onclick="window.open('/')">Open</button>
      <button style="position:fixed;left:600px;top:400px;width:150px;height:150px" onclick="this.textContent='pressed'">press</button>`,
    );
  });
  await new Promise<void>(resolve => site.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(site.address() as AddressInfo).port}/`; // it listens on TCP
  lease = await startLease({ recordVideo: true, page: PAGE }); // its runner was warm before
});
afterAll(async () => {
  await lease[Symbol.asyncDispose]();
  site.close();
});

async function seen({ client }: LeasedRunner): Promise<Record<string, unknown>> {
  const text = await callText(client, 'browser_evaluate', { function: SEEN });
  return JSON.parse(/### Result\n([\s\S]*?\n})/.exec(text)?.[1] ?? text);
}

const AS_ASKED = {
  size: [800, 600],
  languages: ['de-CH'],
  number: "1'234.5",
  timezone: 'Asia/Tokyo',
  dark: true,
  agent: expect.stringMatching(/^Mozilla.* ExampleAgent\/1\.0 \(\+https:\/\/example\.com\)$/),
  position: [47.37, 8.54, 20],
  permissions: {
    geolocation: 'granted',
    'clipboard-read': 'granted',
    'clipboard-write': 'denied',
    notifications: 'denied',
    camera: 'denied',
  },
  notifications: 'denied',
  early: ['de-CH', 9, 800],
  headers: expect.objectContaining({
    'accept-language': 'de-CH',
    'user-agent': expect.stringMatching(/ ExampleAgent\/1\.0 \(\+https:\/\/example\.com\)$/),
  }),
};

test('a page in a browser that was warm before sees every option of its lease', async () => {
  await callText(lease.client, 'browser_navigate', { url });
  expect(await seen(lease)).toEqual(AS_ASKED);
});

test('a popup and a new tab have them from their first script on', async () => {
  await callText(lease.client, 'browser_navigate', { url });
  await callText(lease.client, 'browser_click', { element: 'Open', target: 'button:text("Open")' });
  await callText(lease.client, 'browser_tabs', { action: 'select', index: 1 });
  expect(await seen(lease)).toEqual(AS_ASKED);
  await callText(lease.client, 'browser_tabs', { action: 'new', url });
  expect(await seen(lease)).toEqual(AS_ASKED);
});

test('a person sees and clicks a page of another size, and its video has pictures', async () => {
  await callText(lease.client, 'browser_close', {});
  await callText(lease.client, 'browser_navigate', { url });
  const viewer = await watchLive(lease.runner.url, await lease.controller.liveToken(lease.runner));
  await viewer.heard('hello');
  const picture = await eventually('a picture', () => viewer.pictures.at(-1));
  expect(picture).toMatchObject({ cssWidth: 800, cssHeight: 600 });
  viewer.say({ t: 'take' });
  await viewer.heard('control', ({ control }) => control.state === 'person');
  viewer.say({ t: 'mouse', kind: 'down', x: 700, y: 500, button: 'left', buttons: 1, clicks: 1 });
  viewer.say({ t: 'mouse', kind: 'up', x: 700, y: 500, button: 'left', clicks: 1 });
  viewer.say({ t: 'release' });
  await viewer.heard('control', ({ control }) => control.state === 'agent');
  expect(await callText(lease.client, 'browser_snapshot')).toContain('button "pressed"');
  viewer.close();

  await lease.runner.post('/drain', { token: await lease.controller.drainOrder(lease.runner) });
  expect(await lease.runner.exited).toBe(0);
  const videos = readdirSync(lease.runner.outputDir).filter(name => name.endsWith('.webm'));
  expect(videos.length).toBeGreaterThan(0);
  const probed = execFileSync('ffprobe', [
    ...['-v', 'error', '-count_frames', '-show_entries', 'stream=width,height,nb_read_frames', '-of', 'csv=p=0'],
    join(lease.runner.outputDir, videos[0] ?? ''),
  ]).toString();
  expect(probed).toMatch(/^1920,1080,[1-9]/);
});

test('a lease that asks for a position grants it; one that asks for nothing is as before', async () => {
  const { geolocation } = PAGE;
  await using placed = await startLease({ page: { geolocation } });
  await callText(placed.client, 'browser_navigate', { url });
  const { position, permissions } = await seen(placed);
  expect(position).toEqual([47.37, 8.54, 20]);
  expect(permissions).toMatchObject({
    geolocation: 'granted',
    'clipboard-write': 'granted',
    'clipboard-read': 'denied',
  });

  await using plain = await startLease();
  await callText(plain.client, 'browser_navigate', { url });
  expect(await seen(plain)).toMatchObject({
    size: [1920, 1080],
    dark: false,
    position: 1, // PERMISSION_DENIED
    permissions: { geolocation: 'denied', 'clipboard-write': 'granted', 'clipboard-read': 'denied' },
    agent: expect.not.stringContaining('ExampleAgent'),
  });
});
