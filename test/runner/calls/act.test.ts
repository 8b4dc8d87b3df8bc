import { expect, test } from 'vitest';
import { act } from '../../../runner/calls/act.ts';
import type { CallLease } from '../../../runner/calls/call-lease.ts';
import { leaseTools } from '../../../runner/calls/lease-tools.ts';
import { besideForm } from '../../../runner/tools/custom-form.ts';
import { leaseTool, stageCall, text } from './stage-call.ts';

const upstream = [
  { name: 'browser_click', inputSchema: { type: 'object' as const, properties: { target: {} }, required: ['target'] } },
];

test('a name that both sets have is one tool, and a call is of the form that its arguments are of', () => {
  const both = leaseTools('both', upstream).get('browser_click');
  expect(both?.formOf({ target: 'e1' })).toBe(both?.definition.playwright);
  expect(both?.formOf({ selector: '#a' })).toBe(both?.definition.custom);
  expect(both?.formOf({ x: 1, y: 2 })).toBe(both?.definition.custom);
  expect(Object.keys(both?.listed.inputSchema.properties ?? {})).toEqual(['target', 'selector', 'x', 'y']);
  expect(both?.listed.inputSchema.required).toBeUndefined();
  const [playwright, compat] = (['playwright', 'compat'] as const).map(set => leaseTools(set, upstream));
  expect(playwright?.get('browser_click')?.formOf({ selector: '#a' })).toBe(both?.definition.playwright);
  expect(compat?.get('browser_click')?.formOf({ target: 'e1' })).toBe(both?.definition.custom);
});

test('no tool of Playwright MCP is served that has no file of its own', () => {
  const unsafe = [{ name: 'browser_run_code_unsafe', inputSchema: { type: 'object' as const } }];
  for (const set of ['playwright', 'core', 'compat', 'both'] as const)
    expect(leaseTools(set, unsafe).has('browser_run_code_unsafe')).toBe(false);
});

test('a tool beside the page gets the lease, the clock and a signal that ends with its time', async () => {
  const inTime = new AbortController().signal;
  let given: unknown;
  const tool = leaseTool({
    name: 'beside',
    seconds: 1,
    effect: 'reads',
    whileTainted: 'exempt',
    shorter: null,
    custom: besideForm({
      ...{ sets: [], title: 'Beside', description: 'Beside', input: {}, output: {} },
      run: async (_args, context) => {
        given = context;
        return text('done');
      },
    }),
  });
  const lease = { tools: { sessionId: 's' }, clock: { nowMs: () => 1 } };
  await act(lease as unknown as CallLease)({ ...stageCall({ tool }), inTime }, async () => text('')); // as much as is read
  expect(given).toMatchObject({ lease: lease.tools, clock: lease.clock, signal: inTime });
});
