import { expect, test } from 'vitest';
import { tenActions } from '../tokens/ten-actions.ts';

test('the answers to ten actions take few tokens, on a small page, a table of 500 rows and a form of 109 controls', async () => {
  const { small, table, form } = await tenActions('changes');
  expect(small).toBeLessThanOrEqual(1_300);
  expect(table).toBeLessThanOrEqual(4_000);
  expect(form).toBeLessThanOrEqual(12_000);
});
