import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { openSpan, startTracing } from '../../../process/tracing.ts';
import { openSearch } from '../../search.ts';
import { blocksDrawn } from './blocks-drawn.ts';
import { sequences } from './fuzz-sequences.ts';
import type { Call } from './fuzz-steps.ts';
import { type FuzzedLease, fuzzedLease } from './fuzzed-lease.ts';
import { BLOCKS, leaseOnHostileSite, PASSWORD } from './lease-on-hostile-site.ts';

const search = openSearch();
/** One takes 0.3 s of a core. */
const SEQUENCES = search.countOf(200);

/** Side by side: while one waits for its page, another one works. A recorded one takes three times as long. */
const LEASES = [
  { toolset: 'both', recordVideo: true, share: 0.15 },
  { toolset: 'both', recordVideo: false, share: 0.35 },
  { toolset: 'compat', recordVideo: false, share: 0.25 },
  { toolset: 'compat', recordVideo: false, share: 0.25 },
] as const;

const sum = (of: Record<string, number>): number => Object.values(of).reduce((total, count) => total + count, 0);

function report(name: string, { counts }: FuzzedLease): void {
  const listed = (of: Record<string, number>) =>
    Object.entries(of)
      .sort(([, a], [, b]) => b - a)
      .map(([key, count]) => `${key} ${count}`)
      .join(', ');
  console.info(
    `${name}: ${counts.sequences} sequences, ${counts.pictures} pictures, ${counts.frames} frames, ${counts.events} events\n` +
      `  spans: ${listed(counts.spans)}\n` +
      `  calls: ${listed(counts.calls)}\n  failed: ${listed(counts.codes)}`,
  );
}

/** Sends a span of this process, as a runner's are sent. */
async function sendSpan(collectorUrl: string, name: string): Promise<void> {
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', collectorUrl);
  const stop = await startTracing({ name: 'test', version: '0', onLost: () => expect.unreachable() }, process.env);
  openSpan(name, { kind: 'server' }).end();
  await stop();
  vi.unstubAllEnvs();
}

test(
  'no sequence of calls finds a password, nor more than half of it',
  async () => {
    const ended = await Promise.allSettled(
      LEASES.map(async ({ toolset, recordVideo, share }, at) => {
        await using lease = await leaseOnHostileSite(toolset, { recordVideo, hurried: true });
        const fuzzed = fuzzedLease(lease);
        const passwords = { names: ['SHOP_PASSWORD', 'BLOCK_PASSWORD'] };
        try {
          await fc.assert(
            fc.asyncProperty(sequences({ url: lease.site.url, toolset, passwords }), async calls => {
              expect(await fuzzed.run(calls)).toEqual([]);
            }),
            { numRuns: Math.ceil(SEQUENCES * share), seed: search.seed + at },
          );
          expect(await fuzzed.end()).toEqual([]);
        } finally {
          report(`${toolset} ${at}`, fuzzed);
        }
        // Each call was traced, and what was loaded by some.
        const { 'page load': loads, ...ofCalls } = fuzzed.counts.spans;
        expect(sum(ofCalls)).toBe(sum(fuzzed.counts.calls));
        expect(loads).toBeGreaterThan(0);
        // A lease that refuses everything keeps every secret.
        expect(sum(fuzzed.counts.codes)).toBeLessThan(sum(fuzzed.counts.calls) / 2);
      }),
    );
    for (const each of ended) if (each.status === 'rejected') throw each.reason;
  },
  60_000 + SEQUENCES * 1_000,
);

test('the same search finds what a lease does not know', async () => {
  const secrets = {
    SHOP_USERNAME: 'somebody',
    SHOP_PASSWORD: 'else',
    BLOCK_USERNAME: 'other',
    BLOCK_PASSWORD: 'again',
  };
  await using lease = await leaseOnHostileSite('both', { recordVideo: true, hurried: true, secrets });
  for (const [from, to, isLeak] of [
    [0, 5, false],
    [1, 9, true],
  ] as const) {
    await lease.goTo('plain');
    await lease.call('browser_type', { target: '#q', text: [...BLOCKS].slice(from, to).join('') });
    expect(await blocksDrawn((await lease.call('browser_screenshot')).pictures)).toEqual([isLeak]);
  }
  const fuzzed = fuzzedLease(lease);
  const known = sequences({ url: lease.site.url, toolset: 'both', passwords: { values: [PASSWORD, BLOCKS] } });
  let found = 0;
  const places = new Set<string>();
  const shown: Call[] = [
    { tool: 'browser_navigate', args: { url: `${lease.site.url}/copy` } },
    { tool: 'browser_type', args: { target: '#q', text: BLOCKS } },
    { tool: 'browser_take_screenshot', args: { type: 'png' } },
    { tool: 'browser_take_screenshot', args: { type: 'jpeg' } },
  ];
  const sampled = [shown, ...fc.sample(known, { numRuns: 10, seed: 1 })];
  for (const calls of sampled) {
    const findings = await fuzzed.run(calls);
    if (findings.length > 0) found += 1;
    for (const finding of findings) places.add(finding.in);
  }
  await sendSpan(lease.collector.url, `typed ${PASSWORD}`);
  for (const finding of await fuzzed.end()) places.add(finding.in);
  report(`unguarded: ${found} of ${sampled.length} found it`, fuzzed);
  expect([...places]).toEqual(expect.arrayContaining(['event', 'picture', 'result', 'span', 'video']));
}, 300_000);
