import { describe, expect, test } from 'vitest';
import { openSearch } from '../search.ts';
import { explore } from './explore.ts';
import { WHOLE } from './holes.ts';
import { leaseProtocol } from './protocol.ts';
import { summary } from './show.ts';

const search = openSearch();

describe('the whole lease protocol', () => {
  test.each(search.sliceOf(WHOLE.filter(({ deep }) => !deep)))(
    'no violation, and a quiet state within reach of every state: $title',
    ({ title, world }) => {
      const whole = explore(leaseProtocol(world), { statesMax: 1_000_000 });
      console.log(`${title}: no violation in ${summary(whole)}`);
      expect(whole.violation).toBeUndefined();
    },
    120_000,
  );
});
