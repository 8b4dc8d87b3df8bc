import { afterAll, beforeAll, expect, test } from 'vitest';
import { LIVE_CLOSE, LIVE_LIMITS } from '../../../contract/live-limits.ts';
import { eventually } from '../../eventually.ts';
import { type Site, startSite } from '../../site/site.ts';
import { callText } from '../start.ts';
import { type LeasedRunner, startLease } from '../start-lease.ts';
import { type TestViewer, watchLive } from './viewer.ts';

let site: Site;
let lease: LeasedRunner;
beforeAll(async () => {
  site = await startSite();
  lease = await startLease();
});
afterAll(async () => {
  await lease[Symbol.asyncDispose]();
  await site.close();
});

const token = (options: Parameters<typeof lease.controller.liveToken>[1] = {}) =>
  lease.controller.liveToken(lease.runner, options);
const watch = async (options: Parameters<typeof token>[0] = {}, acknowledges = true) =>
  watchLive(lease.runner.url, await token(options), acknowledges);

/** Closes them, and waits until their places are free. */
async function left(...viewers: TestViewer[]): Promise<void> {
  for (const viewer of viewers) viewer.close();
  await eventually('all are closed', () => viewers.every(viewer => viewer.closed() !== undefined));
}

const FORM = `data:text/html,<title>Form</title><style>body{margin:0}input,button{position:absolute;left:100px;width:200px;height:40px}</style>
<input id=t style="top:100px"><button style="top:200px" onclick="this.textContent='pressed'">press</button>
<button style="top:300px" onclick="this.textContent = 'answered ' + confirm('sure?')">ask</button>`;

test('a viewer is greeted with the tabs and sees the page, also one that stands still', async () => {
  await callText(lease.client, 'browser_navigate', { url: FORM });
  const first = await watch({ role: 'view' });
  const { tabs, control } = await first.heard('hello');
  expect(tabs).toMatchObject([{ title: 'Form', shown: true }]);
  expect(control).toMatchObject({ state: 'agent', holder: null });
  const [picture] = await eventually('a picture', () => first.pictures.length > 0 && first.pictures);
  expect(picture).toMatchObject({ kind: 'screencast', cssWidth: 1920, cssHeight: 1080 });
  expect([...(picture?.jpeg.subarray(0, 2) ?? [])]).toEqual([0xff, 0xd8]);
  // Nothing changes any more: the second viewer sees the last picture.
  const second = await watch();
  await eventually('a picture for the second', () => second.pictures.length > 0);
  await left(first, second);
});

test('a viewer gets a title that only the viewers before it got', async () => {
  const retitle = (title: string) =>
    callText(lease.client, 'browser_evaluate', { function: `() => { document.title = '${title}'; }` });
  const isBaked = ({ tabs: [tab] }: { tabs: readonly { title: string }[] }) => tab?.title === 'Baked';
  const first = await watch({ role: 'view' });
  await first.heard('hello');
  await retitle('Baked');
  await first.heard('tabs', isBaked);
  await left(first);
  await retitle('Oven');
  const second = await watch({ role: 'view' });
  expect((await second.heard('hello')).tabs).toMatchObject([{ title: 'Oven' }]);
  await retitle('Baked');
  await second.heard('tabs', isBaked);
  await left(second);
});

test('[A11] twenty viewers see the page, and one more is refused', async () => {
  const viewers = await Promise.all(Array.from({ length: LIVE_LIMITS.viewersMax }, () => watch({ role: 'view' })));
  for (const viewer of viewers) await eventually('a picture', () => viewer.pictures.length > 0);
  await expect(watch()).rejects.toThrow('refused');
  await left(...viewers);
});

test.each([
  ['another signer', { signWith: 'stranger' as const }],
  ['an older lease', { epoch: 2 }],
  ['a minute ago', { seconds: -30 }],
])('the token of %s opens nothing', async (_name, options) => {
  await expect(watch(options)).rejects.toThrow('refused');
});

test('a token opens one socket, and one that is missing none', async () => {
  const once = await token();
  const viewer = await watchLive(lease.runner.url, once);
  await expect(watchLive(lease.runner.url, once)).rejects.toThrow('refused');
  await expect(watchLive(lease.runner.url, 'x')).rejects.toThrow('refused');
  viewer.close();
});

test('a slow viewer loses pictures and keeps the newest; the other sees all', async () => {
  await callText(lease.client, 'browser_navigate', { url: `${site.url}/animated` });
  const slow = await watch({}, false);
  const fast = await watch();
  await eventually('ten pictures', () => fast.pictures.length >= 10);
  expect(slow.pictures.length).toBeLessThanOrEqual(LIVE_LIMITS.credits);
  const seen = fast.pictures.at(-1)?.seq ?? 0;
  slow.say({ t: 'ack', seq: slow.pictures[0]?.seq ?? 0 });
  await eventually('a newer picture', () => (slow.pictures.at(-1)?.seq ?? 0) >= seen);
  slow.close();
  fast.close();
});

test('anything that is not a message of the protocol closes the socket', async () => {
  const viewer = await watch();
  viewer.say({ t: 'eval', text: '1' });
  expect(await eventually('the close', viewer.closed)).toBe(LIVE_CLOSE.badMessage);
});

test('input of a viewer with the role view, or without control, changes nothing', async () => {
  await callText(lease.client, 'browser_navigate', { url: FORM });
  const viewer = await watch({ role: 'view' });
  await viewer.heard('hello');
  viewer.say({ t: 'take' });
  expect(await viewer.heard('refused')).toMatchObject({ why: 'view_only' });
  const other = await watch();
  await other.heard('hello');
  other.say({ t: 'mouse', kind: 'down', x: 200, y: 220, button: 'left', buttons: 1, clicks: 1 });
  expect(await other.heard('refused')).toMatchObject({ why: 'not_in_control' });
  expect(await callText(lease.client, 'browser_snapshot')).toContain('button "press"');
  viewer.close();
  other.close();
});

test('a person takes control, types and clicks; the agent waits, then is asked to look again', async () => {
  const person = await watch();
  const rival = await watch({ viewer: 'grace' });
  const { you } = await person.heard('hello');
  await rival.heard('hello');
  person.say({ t: 'take' });
  await person.heard('control', ({ control }) => control.state === 'person' && control.holder === you);
  rival.say({ t: 'take' });
  expect(await rival.heard('refused')).toMatchObject({ why: 'held' });
  const waiting = callText(lease.client, 'browser_snapshot');
  await person.heard('control', ({ control }) => control.waiting === 1);

  const click = (x: number, y: number) => {
    person.say({ t: 'mouse', kind: 'down', x, y, button: 'left', buttons: 1, clicks: 1 });
    person.say({ t: 'mouse', kind: 'up', x, y, button: 'left', clicks: 1 });
  };
  click(200, 120);
  person.say({ t: 'key', kind: 'down', key: 'é', code: 'KeyE', text: 'é' });
  person.say({ t: 'key', kind: 'up', key: 'é', code: 'KeyE' });
  person.say({ t: 'text', text: ' pasted ☕' });
  person.say({ t: 'key', kind: 'down', key: 'a', code: 'KeyA', key_code: 65, modifiers: 2 });
  person.say({ t: 'copy' });
  expect((await person.heard('clip')).text).toBe('é pasted ☕');
  click(200, 220);
  // The press that opens the dialog is answered by Chromium only after it.
  click(200, 320);
  const { tab } = await person.heard('dialog');
  person.say({ t: 'answer', tab, accept: true });
  await person.heard('dialog_closed');
  person.say({ t: 'release' });
  const snapshot = await waiting;
  expect(snapshot).toContain('é pasted ☕');
  expect(snapshot).toContain('button "pressed"');
  expect(snapshot).toContain('button "answered true"');
  expect(snapshot).toContain('A person acted');
  expect(await callText(lease.client, 'browser_snapshot')).not.toContain('A person acted');
  const kinds = ['control.taken', 'control.given_back'];
  const events = await eventually('both events', () => {
    const found = lease.controller.events.filter(({ kind }) => kinds.includes(kind));
    return found.length === 2 && found;
  });
  expect(events.map(({ data }) => data)).toMatchObject([{ viewer: 'ada' }, { viewer: 'ada', why: 'released' }]);
  // Nothing of what was typed is in the timeline.
  expect(JSON.stringify(lease.controller.events)).not.toContain('pasted');
  person.close();
  rival.close();
});

test('copies the selection of the frame that has the focus, and never of a password field', async () => {
  const framed = (body: string) => `srcdoc="<body style='margin:0'>${body.replaceAll('"', '&quot;')}"`;
  const field = (value: string, type = 'text') => `<input type=${type} value=${value} style='width:300px;height:90px'>`;
  const frames = [framed(field('rye')), `sandbox ${framed(field('spelt'))}`, framed(field('secret', 'password'))];
  const url = `data:text/html,${encodeURIComponent(
    `<style>body{margin:0}iframe{position:absolute;left:0;border:0;width:400px;height:100px}</style>
    ${frames.map((each, at) => `<iframe style="top:${at * 100}px" ${each}></iframe>`).join('')}`,
  )}`;
  await callText(lease.client, 'browser_navigate', { url });
  const person = await watch();
  await person.heard('hello');
  person.say({ t: 'take' });
  await person.heard('control', ({ control }) => control.state === 'person');
  for (const [y, text] of [
    [50, 'rye'],
    [150, 'spelt'],
    [250, ''],
  ] as const) {
    person.say({ t: 'mouse', kind: 'down', x: 200, y, button: 'left', buttons: 1, clicks: 1 });
    person.say({ t: 'mouse', kind: 'up', x: 200, y, button: 'left', clicks: 1 });
    person.say({ t: 'key', kind: 'down', key: 'a', code: 'KeyA', key_code: 65, modifiers: 2 });
    person.say({ t: 'key', kind: 'up', key: 'a', code: 'KeyA', key_code: 65, modifiers: 2 });
    person.say({ t: 'copy' });
    await person.heard('clip', clip => clip.text === text);
  }
  person.say({ t: 'release' });
  await person.heard('control', ({ control }) => control.why === 'released');
  person.close();
});

test('a user action is shown until it is answered, also to viewers who connect later', async () => {
  const viewer = await watch();
  await viewer.heard('hello');
  const asking = callText(lease.client, 'browser_request_user_action', { reason: 'The code from your phone' });
  const { id, expires_in_ms } = await viewer.heard('ask', ({ reason }) => reason === 'The code from your phone');
  expect(expires_in_ms).toBeGreaterThan(100_000);
  const late = await watch({ role: 'view' });
  await late.heard('ask', ask => ask.id === id);
  const action = await eventually('the user action', () => lease.controller.userActions.find(each => each.id === id));
  action.status = 'done';
  await viewer.heard('ask_closed', ask => ask.id === id);
  expect(await asking).toContain('done');
  viewer.close();
  late.close();
});

test('[A10] a person does on the live picture what the agent asked for, and the agent goes on', async () => {
  await callText(lease.client, 'browser_navigate', { url: FORM });
  const person = await watch();
  await person.heard('hello');
  await eventually('the live picture', () => person.pictures.length > 0);
  const asking = callText(lease.client, 'browser_request_user_action', { reason: 'Press the button', timeout: 60 });
  const { id } = await person.heard('ask', ({ reason }) => reason === 'Press the button');
  person.say({ t: 'take' });
  await person.heard('control', ({ control }) => control.state === 'person');
  person.say({ t: 'mouse', kind: 'down', x: 200, y: 220, button: 'left', buttons: 1, clicks: 1 });
  person.say({ t: 'mouse', kind: 'up', x: 200, y: 220, button: 'left', clicks: 1 });
  person.say({ t: 'release' });
  await person.heard('control', ({ control }) => control.state === 'agent');
  const action = await eventually('the user action', () => lease.controller.userActions.find(each => each.id === id));
  action.status = 'done';
  expect(JSON.parse(await asking)).toMatchObject({ success: true, status: 'done' });
  expect(await callText(lease.client, 'browser_snapshot')).toContain('button "pressed"');
  person.close();
});

test('a person opens, switches and closes tabs, and reaches no closed address', async () => {
  const person = await watch();
  await person.heard('hello');
  person.say({ t: 'take' });
  await person.heard('control', ({ control }) => control.state === 'person');
  person.say({ t: 'goto', url: 'file:///etc/passwd' });
  expect((await person.heard('refused')).text).toContain('closed here');
  person.say({ t: 'goto', url: site.url });
  await person.heard('tabs', ({ tabs }) => tabs.some(({ url, shown }) => shown && url.startsWith(site.url)));
  person.say({ t: 'release' });
  await person.heard('control', ({ control }) => control.state === 'agent' && control.why === 'released');
  await callText(lease.client, 'browser_tabs', { action: 'new', url: FORM });
  const { tabs } = await person.heard('tabs', ({ tabs: each }) => each.length === 2);
  const first = tabs[0]?.id ?? 0;
  person.messages.length = 0;
  person.say({ t: 'take' });
  await person.heard('control', ({ control }) => control.state === 'person');
  person.say({ t: 'tab', id: first, do: 'show' });
  await person.heard('tabs', ({ tabs: each }) => each.some(({ id, shown }) => id === first && shown));
  person.say({ t: 'tab', id: tabs[1]?.id, do: 'close' });
  await person.heard('tabs', ({ tabs: each }) => each.length === 1);
  person.say({ t: 'release' });
  person.close();
});

test('the end of the lease closes every socket before its runner goes', async () => {
  const viewers = await Promise.all([watch(), watch({ role: 'view' })]);
  await Promise.all(viewers.map(viewer => viewer.heard('hello')));
  const drained = lease.runner.post('/drain', { token: await lease.controller.drainOrder(lease.runner) });
  const gone = lease.runner.exited.then(() => 'the runner has gone');
  for (const viewer of viewers)
    expect(await Promise.race([eventually('the close', viewer.closed), gone])).toBe(LIVE_CLOSE.leaseEnded);
  await drained;
  await expect(watch()).rejects.toThrow('refused');
});
