import { describe, expect, test } from 'vitest';
import { openSearch } from '../search.ts';
import { explore } from './explore.ts';
import { HOLES, worldOf } from './holes.ts';
import { leaseProtocol } from './protocol.ts';
import { summary } from './show.ts';
import type { Fix } from './world.ts';

const search = openSearch();

describe('the checker finds what a missing fix lets happen', () => {
  test.each(search.sliceOf(HOLES))(
    'hole $id: $title is found when its fix is taken out',
    hole => {
      const found = explore(leaseProtocol(worldOf(hole)), { statesMax: 500_000, watch: hole.rule });
      console.log(`hole ${hole.id}: ${found.violation?.trace.length} steps; ${summary(found)}`);
      expect(found.violation?.rule).toBe(hole.rule);
      expect(found.violation?.trace.length).toBeLessThanOrEqual(hole.lengthMax);
    },
    120_000,
  );

  test.each<{ alone: Fix }>([{ alone: 'redeem-locks-session' }, { alone: 'ready-asks-starting' }])(
    'hole 3 and 7 have two fixes each, so nothing breaks without $alone alone',
    ({ alone }) => {
      const world = { ...worldOf({ id: '', title: '', without: [alone], rule: '', lengthMax: 0 }), callers: 1 };
      const found = explore(leaseProtocol(world), { statesMax: 500_000 });
      expect(found.violation).toBeUndefined();
    },
    120_000,
  );
});
