import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { EgressEvent } from '../../contract/egress.ts';
import { egressEventReport } from '../../contract/egress.ts';
import { DENIALS_PER_MINUTE, MINUTE_MS } from '../../egress/denial-minutes.ts';
import { denialReporter } from '../../egress/events.ts';
import { eventually } from '../eventually.ts';
import { steppedClock } from '../fakes/clock.ts';

/** A reporter whose controller keeps what it was sent, or is away. */
function reporting() {
  const clock = steppedClock();
  const lines: EgressEvent[] = [];
  const controller = { isAway: false, asked: 0 };
  let dropped = 0;
  const reporter = denialReporter({
    clock,
    source: {
      lookup: () => Promise.reject(new Error('not asked here')),
      watch: () => Promise.reject(new Error('not asked here')),
      report: async events => {
        controller.asked += 1;
        if (controller.isAway) throw new Error('away');
        lines.push(...egressEventReport.parse({ events }).events);
      },
    },
    onDropped: count => {
      dropped += count;
    },
  });
  const flush = () => reporter.flush(new AbortController().signal);
  const lease = () => ({ session_id: randomUUID(), runner_id: randomUUID(), epoch: 1 });
  const deny = (key: ReturnType<typeof lease>, host: string) =>
    reporter.record(key, 'connect', { host, port: 443, isAddress: false }, { refused: 'site_not_allowed' });
  /** Steps the running reporter through this number of seconds. */
  const pass = async (seconds: number) => {
    for (let i = 0; i < seconds; i++) {
      await eventually('the reporter waits', () => clock.idleMs().length > 0);
      clock.advance(1000);
      await flush();
    }
  };
  const of = (key: ReturnType<typeof lease>) => lines.filter(line => line.runner_id === key.runner_id);
  const counted = () => lines.reduce((sum, { count }) => sum + count, 0);
  return { clock, reporter, controller, lines, flush, lease, deny, pass, of, counted, dropped: () => dropped };
}

it('writes thirty lines a minute for a page that tries 608 hosts in 27 seconds, then one with the number of the rest', async () => {
  const { reporter, lines, lease, deny, pass, of } = reporting();
  const [hostile, other] = [lease(), lease()];
  reporter.start();
  for (let i = 0; i < 608; i++) {
    deny(hostile, `host-${i}.example`);
    if (i % 23 === 22) await pass(1);
  }
  deny(other, 'one.example');
  await pass(1);
  expect(of(hostile)).toHaveLength(DENIALS_PER_MINUTE);
  expect(of(other)).toHaveLength(1);
  await pass(40);
  expect(of(hostile)).toHaveLength(DENIALS_PER_MINUTE + 1);
  expect(of(hostile).at(-1)).toMatchObject({ ...hostile, code: 'more_denials', count: 608 - DENIALS_PER_MINUTE });
  expect(lines.at(-1)?.age_ms).toBeGreaterThan(30_000);
  await reporter.stop();
});

it('gives every minute its lines, and every denial is counted once', async () => {
  const { reporter, lease, deny, pass, of, counted, dropped } = reporting();
  const hostile = lease();
  reporter.start();
  for (let second = 0; second < 300; second++) {
    for (let i = 0; i < 5; i++) deny(hostile, `host-${second}-${i}.example`);
    await pass(1);
  }
  await reporter.stop();
  expect(of(hostile).length).toBeLessThanOrEqual(6 * (DENIALS_PER_MINUTE + 1));
  expect(counted()).toBe(1500);
  expect(dropped()).toBe(0);
});

it('counts a host that is tried again and again as lines of the same minute', async () => {
  const { reporter, lease, deny, pass, of, counted } = reporting();
  const polling = lease();
  reporter.start();
  for (let second = 0; second < MINUTE_MS / 1000; second++) {
    for (let i = 0; i < 10; i++) deny(polling, 'one.example');
    await pass(1);
  }
  await reporter.stop();
  expect(of(polling)).toHaveLength(DENIALS_PER_MINUTE + 1);
  expect(counted()).toBe(600);
});

it('keeps the lines of one minute for each lease while the controller is away, and loses no denial', async () => {
  const { reporter, controller, lease, deny, pass, of, counted, dropped } = reporting();
  controller.isAway = true;
  const leases = Array.from({ length: 50 }, lease);
  reporter.start();
  for (let minute = 0; minute < 10; minute++) {
    for (const key of leases) for (let i = 0; i < 40; i++) deny(key, `host-${minute}-${i}.example`);
    await pass(60);
  }
  controller.isAway = false;
  await pass(61);
  await reporter.stop();
  expect(counted()).toBe(50 * 10 * 40);
  expect(dropped()).toBe(0);
  for (const key of leases) expect(of(key).length).toBeLessThanOrEqual(DENIALS_PER_MINUTE + 1);
});

it('writes what is left when the proxy stops', async () => {
  const { reporter, lease, deny, of } = reporting();
  const key = lease();
  for (let i = 0; i < 100; i++) deny(key, `host-${i}.example`);
  await reporter.stop();
  expect(of(key)).toHaveLength(DENIALS_PER_MINUTE + 1);
  expect(of(key).at(-1)).toMatchObject({ code: 'more_denials', count: 70 });
});
