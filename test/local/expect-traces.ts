import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { pino } from 'pino';
import { expect } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import type { Console } from '../../console/server/console.ts';
import { CONSOLE_ROUTES } from '../../contract/console.ts';
import { ENV } from '../../contract/names.ts';
import { leaseAnswer } from '../../contract/session.ts';
import { serviceKey, signServiceToken } from '../../contract/tokens.ts';
import { startDemoSite } from '../../local/demo-site.ts';
import { startStack } from '../../local/stack.ts';
import { startTracing, TRACING_VARIABLES } from '../../process/tracing.ts';
import { eventually } from '../eventually.ts';
import type { ReceivedSpan } from '../fakes/collector.ts';
import { newFolder, shell } from './machine.ts';

const newTrace = () => randomUUID().replaceAll('-', '');
const parentOf = (trace: string) => `00-${trace}-00f067aa0ba902b7-01`;

/** Signs in by a link, as a person's browser does. */
async function askConsole(console: Pick<Console, 'url' | 'link'>, path: string, traceparent: string): Promise<void> {
  const signedIn = await fetch(`${console.url}${CONSOLE_ROUTES.signIn}`, {
    method: 'POST',
    headers: { origin: console.url, 'content-type': 'application/json' },
    body: JSON.stringify({ token: new URL(console.link()).hash.slice(1) }),
  });
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
  const answer = await fetch(`${console.url}${path}`, { headers: { cookie, traceparent } });
  expect(answer.status).toBe(200);
}

/** A collector, and the spans that arrived at it. */
export interface TraceCollector {
  readonly url: string;
  /** All that was sent, as it came. */
  received(): string;
  spans(): readonly ReceivedSpan[];
}

/** Leases a browser of a local stack, logs in by it and asks the console: each is traced as far as its database, and no secret is in a span. */
export async function expectTraces(collector: TraceCollector): Promise<void> {
  const folder = await newFolder();
  const site = await startDemoSite();
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = collector.url;
  const stopTracing = await startTracing({ name: 'omicron-controller', version: '0', onLost() {} }, process.env);
  const stack = await startStack({
    folder,
    log: pino({ level: 'silent' }),
    egress: { allowedCidrs: [`${new URL(site.url).hostname}/32`] },
    runnerEnv: {
      ...shell(),
      [TRACING_VARIABLES[0]]: collector.url,
      OTEL_BSP_SCHEDULE_DELAY: '100',
      [ENV.insecureLoginOrigins]: site.url,
    },
  });
  const [leaseTrace, callTrace, consoleTrace] = [newTrace(), newTrace(), newTrace()];
  let sessionId = '';
  try {
    const sessions = new BrowserSessions(stack);
    await sessions.putPolicy({}, { version: 1, sites: { ports: [Number(new URL(site.url).port)] } });
    await sessions.putCredential('ada', 'bakery', site.login);
    const answer = await fetch(`${stack.url}/internal/browser-sessions/get-or-create`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await signServiceToken(serviceKey(stack.serviceSecret))}`,
        'content-type': 'application/json',
        traceparent: parentOf(leaseTrace),
      },
      body: JSON.stringify({ user_id: 'ada', conversation_id: 'chat', wait_seconds: 60 }),
    });
    const lease = leaseAnswer.parse(await answer.json());
    sessionId = lease.session_id;
    const requestInit = { headers: { ...lease.mcp_headers } };
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(lease.mcp_url ?? ''), { requestInit }));
    const call = (name: string, args: Record<string, unknown>) =>
      client.callTool({ name, arguments: args, _meta: { traceparent: parentOf(callTrace) } });
    await call('browser_navigate', { url: `${site.url}/?query=hunter22` });
    await call('browser_navigate', { url: `${site.url}/login` });
    await call('browser_fill_form', {
      fields: [
        { name: 'E-mail', type: 'textbox', target: '#username', value: 'BAKERY_USERNAME' },
        { name: 'Password', type: 'textbox', target: '#password', value: 'BAKERY_PASSWORD' },
      ],
    });
    await call('browser_click', { element: 'typed argument', target: '#submit' });
    const seen = await call('browser_snapshot', {});
    expect(JSON.stringify(seen)).toContain('Welcome back');
    await eventually('the calls at the collector', () =>
      collector.spans().some(({ attributes }) => attributes['gen_ai.tool.name'] === 'browser_snapshot'),
    );
    await client.close();
    await askConsole(stack.console, `/api/browser-sessions/${sessionId}?user=hunter22`, parentOf(consoleTrace));
  } finally {
    await stack.stop();
    await stopTracing();
    delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT;
    await site.close();
    await rm(folder, { recursive: true, force: true });
  }
  const spans = collector.spans();
  const ofLease = spans
    .filter(({ traceId }) => traceId === leaseTrace)
    .map(({ service, name }) => `${service} ${name}`);
  expect(ofLease).toEqual(
    expect.arrayContaining([
      'omicron-controller POST /internal/browser-sessions/get-or-create',
      'omicron-controller SELECT omicron.acquire',
      'omicron-controller POST /assign',
      'omicron-runner POST /assign',
      'omicron-controller POST /internal/runner-secrets',
      'omicron-controller SELECT omicron.redeem',
    ]),
  );
  const calls = spans.filter(({ traceId }) => traceId === callTrace);
  const tools = calls.filter(({ name }) => name.startsWith('tools/call '));
  expect(tools.map(({ service, attributes }) => `${service} ${attributes['gen_ai.tool.name']}`)).toEqual([
    'omicron-runner browser_navigate',
    'omicron-runner browser_navigate',
    'omicron-runner browser_fill_form',
    'omicron-runner browser_click',
    'omicron-runner browser_snapshot',
  ]);
  // Either trace leads to the other.
  const assigned = spans.find(
    ({ traceId, service, name }) => traceId === leaseTrace && service === 'omicron-runner' && name === 'POST /assign',
  );
  for (const tool of tools) {
    expect(tool.links).toMatchObject([{ traceId: leaseTrace, spanId: assigned?.spanId }]);
    expect(tool.attributes).toMatchObject({ 'omicron.session.id': sessionId, 'omicron.session.epoch': 1 });
  }
  const [linked, ...others] = spans.filter(({ name }) => name === 'calls');
  expect(others).toEqual([]);
  expect(linked).toMatchObject({ traceId: leaseTrace, parentSpanId: assigned?.spanId });
  expect(linked?.attributes).toMatchObject({ 'omicron.session.id': sessionId });
  expect(linked?.links).toMatchObject(tools.map(({ spanId }) => ({ traceId: callTrace, spanId })));
  const callOf = (spanId: string | undefined) => tools.find(each => each.spanId === spanId);
  const loads = calls.filter(({ name }) => name === 'page load');
  const loadsBy = loads.map(load => {
    const { 'http.request.method': method, 'http.response.status_code': status } = load.attributes;
    return `${callOf(load.parentSpanId)?.attributes['gen_ai.tool.name']}: ${method} ${status}`;
  });
  // The form is posted, which redirects.
  expect(loadsBy).toEqual([
    'browser_navigate: GET 404',
    'browser_navigate: GET 200',
    'browser_click: POST 303',
    'browser_click: GET 200',
  ]);
  const connections = calls.filter(({ name }) => name === 'egress connection');
  expect(connections.map(({ service }) => service)).toEqual(expect.arrayContaining(loads.map(() => 'omicron-egress')));
  // The browser may ask the proxy before the runner hears of a load or of a redirect: that connection is below the call, or
  // the load before.
  for (const call of new Set(loads.map(({ parentSpanId }) => parentSpanId))) {
    const ofCall = loads.filter(({ parentSpanId }) => parentSpanId === call);
    const above = [call, ...ofCall.map(({ spanId }) => spanId)];
    const ofLoads = connections.filter(({ parentSpanId }) => above.includes(parentSpanId));
    expect(ofLoads.length, String(callOf(call)?.attributes['gen_ai.tool.name'])).toBeGreaterThanOrEqual(ofCall.length);
    for (const { attributes } of ofLoads)
      expect(attributes).toMatchObject({
        'omicron.egress.method': 'http',
        'server.port': Number(new URL(site.url).port),
        'omicron.session.id': sessionId,
      });
  }
  // The console of a local stack is in the controller's process.
  const ofConsole = spans.filter(({ traceId }) => traceId === consoleTrace);
  const [asked, passedOn] = ['/api', '/internal'].map(under =>
    ofConsole.find(({ name }) => name === `GET ${under}/browser-sessions/:session_id`),
  );
  expect(asked).toMatchObject({ parentSpanId: '00f067aa0ba902b7', attributes: { 'omicron.session.id': sessionId } });
  expect(passedOn).toMatchObject({ parentSpanId: asked?.spanId });
  const { username, password } = site.login;
  for (const text of [username, password, 'hunter22', 'typed argument', 'Welcome back', 'BAKERY_', '#submit', '"ada"'])
    expect(collector.received(), text).not.toContain(text);
}
