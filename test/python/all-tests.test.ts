import { afterAll, beforeAll, expect, it } from 'vitest';
import { type PythonWheel, startPythonWheel } from './wheel.ts';

let wheel: PythonWheel;
beforeAll(async () => {
  wheel = await startPythonWheel();
}, 120_000);
afterAll(() => wheel?.[Symbol.asyncDispose]());

it('the Python package works on a stack: the tests of clients/python', { timeout: 180_000 }, async ({ task }) => {
  // Beside the others, because they wait for leases to expire.
  const { passed, failed, complaints } = await wheel.pytest(['tests/test_lease.py'], ['--ignore=tests/test_lease.py']);
  task.meta.ran = { passed, failed };
  expect(complaints).toEqual([]);
  expect(passed).toBeGreaterThan(20);
});
