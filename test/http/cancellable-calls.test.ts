import { expect, it } from 'vitest';
import { CancellableCalls } from '../../http/cancellable-calls.ts';

it('cancels a call whose cancellation has overtaken it, and no other one', async () => {
  const calls = new CancellableCalls();
  calls.cancel('agent', { method: 'notifications/cancelled', params: { requestId: 1 } });
  const isCancelled = (client: string, id: string | number) =>
    calls.run(client, id, async ({ signal }) => signal.aborted);
  expect(await isCancelled('agent', '1')).toBe(false);
  expect(await isCancelled('other', 1)).toBe(false);
  expect(await isCancelled('agent', 1)).toBe(true);
  expect(await isCancelled('agent', 1)).toBe(false);
});
