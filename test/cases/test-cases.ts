import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { CallToolResult } from '@modelcontextprotocol/client';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { textOf } from '../../runner/results/result.ts';
import { eventually } from '../eventually.ts';
import { callText } from '../runner/start.ts';
import { type LeasedRunner, startLease } from '../runner/start-lease.ts';
import { openSearch } from '../search.ts';
import { type Case, type CaseAddress, opens, type Step } from './case.ts';
import { type CaseSite, serveCases } from './serve-cases.ts';

let site: CaseSite;

/** As many files share the cases, so that two run at once. */
const PARTS = 3;

/** Declares the tests of every third case of this slice, on a runner of their own. `part` counts from 1. */
export async function testCases(part: 1 | 2 | 3): Promise<void> {
  const search = openSearch();
  let lease: LeasedRunner;
  serveCasesToTests();
  beforeAll(async () => {
    lease = await startCaseLease();
  });
  afterAll(() => lease?.[Symbol.asyncDispose]());

  const cases = (await readCases()).filter(each => !each.case.waits).filter((_, index) => index % PARTS === part - 1);
  test.each(search.sliceOf(cases))(TITLE, each => runCase(lease.client, each));
}

/** Declares the tests of cases that wait, side by side, each on a runner of its own. */
export async function testCasesThatWait(): Promise<void> {
  serveCasesToTests();
  const cases = (await readCases()).filter(each => each.case.waits);
  const leases = new Map<string, LeasedRunner>();
  beforeAll(async () => {
    // All are there before the first test begins: what a browser takes to start is no part of an answer's time.
    for (const { name } of cases) leases.set(name, await startCaseLease());
  });
  afterAll(() => Promise.all([...leases.values()].map(lease => lease[Symbol.asyncDispose]())));
  test.concurrent.each(cases)(TITLE, async each => {
    const lease = leases.get(each.name);
    if (lease === undefined) throw new Error(`no lease for ${each.name}`);
    await runCase(lease.client, each);
  });
}

const TITLE = '$name: $case.title';
const startCaseLease = () => startLease({ toolset: 'both', recordVideo: false });

function serveCasesToTests(): void {
  beforeAll(async () => {
    site = await serveCases();
  });
  afterAll(() => site?.close());
}

interface NamedCase {
  readonly name: string;
  readonly case: Case;
}

async function runCase(client: Client, { name, case: { opens: isOpened, steps } }: NamedCase): Promise<void> {
  const at: CaseAddress = { host: site.host, secureHost: site.secureHost, url: `http://${site.host}/${name}/` };
  await run(client, { tool: 'browser_close' }, name);
  if (isOpened !== false) await run(client, opens(at), name);
  for (const step of steps(at)) await run(client, step, name);
}

async function run(client: Client, step: Step, name: string): Promise<void> {
  const { tool, args: given = {}, shows = [], hides = [], logs, check } = step;
  const args = JSON.stringify(given).includes(REF_OF) ? await withRefs(client, given) : given;
  const result = (await client.callTool({ name: tool, arguments: { ...args } })) as CallToolResult; // of the protocol
  // Refusals are JSON, in which quotation marks are escaped.
  const text = textOf(result).replaceAll('\\"', '"');
  const call = `${tool} ${JSON.stringify(args)}`;
  for (const each of [shows].flat()) expect(text, call).toMatch(each);
  for (const each of [hides].flat()) expect(text, call).not.toMatch(each);
  await check?.(result);
  if (logs !== undefined) await eventually(`${logs} in the log of the page`, () => site.logged(name).includes(logs));
}

const REF_OF = 'ref of ';

/** The arguments with refs in place of what they name. */
async function withRefs(client: Client, args: NonNullable<Step['args']>): Promise<Record<string, unknown>> {
  const snapshot = await callText(client, 'browser_snapshot');
  return JSON.parse(JSON.stringify(args), (_key, value: unknown) => {
    if (typeof value !== 'string' || !value.startsWith(REF_OF)) return value;
    const [, ref] = snapshot.split(value.slice(REF_OF.length))[1]?.match(/^[^\n]*?\[ref=(\w+)\]/) ?? [];
    expect(ref, `${value} in ${snapshot}`).toBeDefined();
    return ref;
  });
}

/** Each folder beside this file with its description. */
async function readCases(): Promise<NamedCase[]> {
  const folders = readdirSync(import.meta.dirname, { withFileTypes: true }).filter(each => each.isDirectory());
  return Promise.all(
    folders
      .filter(({ name }) => existsSync(join(import.meta.dirname, name, 'case.ts')))
      .map(async ({ name }) => {
        const described: { default: Case } = await import(join(import.meta.dirname, name, 'case.ts'));
        return { name, case: described.default };
      }),
  );
}
