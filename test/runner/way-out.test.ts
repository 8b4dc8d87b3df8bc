import { createSocket } from 'node:dgram';
import { expect, test } from 'vitest';
import { CODE_META } from '../../contract/tool-failure.ts';
import { eventually } from '../eventually.ts';
import { loginLeaseOfFile } from './login-lease.ts';
import { connectionsOfGroup } from './sockets.ts';

const { lease, at, call, goTo } = loginLeaseOfFile();

test('the way out is the proxy alone, and its refusals are explained in words', async () => {
  expect((await goTo('https://denied.test/')).text).toMatch(
    /denied\.test:443: A policy denies this site\. \(site_denied\)/,
  );
  expect((await goTo('https://169.254.169.254/latest/')).text).toContain('(internal_address)');
  expect((await goTo(`http://127.0.0.1:${new URL(lease().runner.url).port}/healthz`)).text).not.toContain('boot_id');
  expect((await goTo(`http://localhost:${new URL(lease().runner.url).port}/healthz`)).text).not.toContain('boot_id');
});

test.each([
  ['https', 'https://denied.test/', 'site_denied'],
  ['http', 'http://denied.test/', 'site_denied'],
  ['a metadata address', 'http://169.254.169.254/latest/', 'internal_address'],
  ['a name that is none', 'http://nowhere.test/', 'action_failed'],
])('a navigation that the way out refuses fails with its code: %s', async (_what, url, code) => {
  for (const [name, args] of [
    ['browser_navigate', { url }],
    ['browser_navigate', { url, screenshot: false }],
    ['browser_open', { url }],
    ['browser_tabs', { action: 'new', url }],
  ] as const) {
    await goTo(at('shop.test', '/login'));
    const result = await lease().client.callTool({ name, arguments: args });
    expect(result, name).toMatchObject({ isError: true, _meta: { [CODE_META]: code } });
    expect(result.structuredContent, name).toMatchObject({
      success: false,
      error: { code },
      hints: [expect.any(String)],
    });
  }
  const allowed = await lease().client.callTool({
    name: 'browser_navigate',
    arguments: { url: at('shop.test', '/login') },
  });
  expect(allowed.isError).toBeFalsy();
});

test.each(['https://denied.test/', 'http://denied.test/'])(
  'a click that leads to %s fails with the code of the way out, and so do a key, a script and the way back',
  async url => {
    const link = `() => { document.body.innerHTML = '<a id=denied href="${url}">Offer</a>'; document.links[0].focus(); return 1 }`;
    for (const [name, args] of [
      ['browser_click', { target: '#denied' }],
      ['browser_click', { selector: '#denied' }],
      ['browser_press_key', { key: 'Enter' }],
      ['browser_evaluate', { function: `() => { location.href = '${url}' }` }],
    ] as const) {
      await goTo(at('evil.test', '/login'));
      await call('browser_evaluate', { function: link });
      const result = await lease().client.callTool({ name, arguments: args });
      expect(result, name).toMatchObject({ isError: true, _meta: { [CODE_META]: 'site_denied' } });
    }
    await goTo(url);
    await goTo(at('evil.test', '/login'));
    const back = await lease().client.callTool({ name: 'browser_navigate_back', arguments: {} });
    expect(back).toMatchObject({ isError: true, _meta: { [CODE_META]: 'site_denied' } });
    // A tab beside it, and a call that only looks, do not fail.
    await goTo(at('evil.test', '/login'));
    await call('browser_evaluate', { function: link.replace('id=denied', 'id=denied target=_blank') });
    const beside = await call('browser_click', { target: '#denied' });
    expect([beside.failed, beside.text]).toEqual([false, expect.stringContaining('site_denied')]);
    expect((await call('browser_snapshot')).failed).toBe(false);
  },
);

test('the browser has connections to its forwarder and no others, whatever a page tries', async () => {
  const packets: string[] = [];
  const stun = createSocket('udp4', packet => packets.push(packet.toString('hex')));
  await new Promise<void>(bound => stun.bind(0, '127.0.0.1', bound));
  await goTo(at('evil.test', '/login'));
  const tries = `async () => {
    for (const rel of ['dns-prefetch', 'preconnect', 'prefetch'])
      document.head.append(Object.assign(document.createElement('link'), { rel, href: 'https://bank.test:${lease().site.port}/' + rel }));
    const peer = new RTCPeerConnection({ iceServers: [{ urls: ['stun:evil.test:3478', 'stun:127.0.0.1:${stun.address().port}'] }] });
    peer.createDataChannel('x');
    const found = [];
    peer.onicecandidate = ({ candidate }) => candidate && found.push(candidate.candidate);
    await peer.setLocalDescription(await peer.createOffer());
    await fetch('https://bank.test:${lease().site.port}/fetched', { mode: 'no-cors' }).catch(() => {});
    await new Promise(done => setTimeout(done, 1500));
    return found.length;
  }`;
  const connections = () => connectionsOfGroup(lease().runner.browserPid());
  const tried = call('browser_evaluate', { function: tries });
  const meanwhile = await eventually('a connection of the browser', () => {
    const found = connections();
    return found.length > 0 && found;
  });
  const { text } = await tried;
  expect(text).toContain('### Result\n0');
  expect(lease().site.arrived.map(({ url }) => url)).toContain('/fetched');
  const open = [...meanwhile, ...connections()];
  const others = open.filter(({ protocol, local }) => protocol === 'udp' || !local);
  expect(new Set(open.map(({ remotePort }) => remotePort)).size).toBe(1);
  expect(others).toEqual([]);
  expect(packets).toEqual([]);
  stun.close();
});
