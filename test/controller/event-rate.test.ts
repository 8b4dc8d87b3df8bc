import { expect, test } from 'vitest';
import { measureEventRate } from '../bench/event-rate.ts';

const SECONDS = 4;

// The times of processes are in /proc.
test.runIf(process.platform === 'linux')(
  '1,000 events a second to two streams and one webhook take at most 0.1 core of Postgres beyond writing them',
  async () => {
    const { postgres_cores, ...events } = await measureEventRate(SECONDS);
    expect(events).toEqual({ delivered: 3 * 1_000 * SECONDS, lost: 0, twice: 0 });
    expect(postgres_cores).toBeLessThan(0.1);
  },
);
