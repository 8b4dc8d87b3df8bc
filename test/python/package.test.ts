import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT } from '../local/machine.ts';
import { type PythonWheel, python, startPythonWheel } from './wheel.ts';

/** A chat of each client of the package. */
const CHATS = [
  'tests/test_lease.py::test_serves_a_chat_request_by_request',
  'tests/test_async.py::test_serves_a_chat_and_renews_beside_it',
];

// All of its tests: all-tests.test.ts.
describe('the Python package, as a wheel', { timeout: 180_000 }, () => {
  let wheel: PythonWheel;
  beforeAll(async () => {
    wheel = await startPythonWheel();
  }, 120_000);
  afterAll(() => wheel?.[Symbol.asyncDispose]());

  it('holds its licence, links, types and version', async () => {
    const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
    const about = join(wheel.installed, `omicron_browser-${version}.dist-info`);
    expect(await readdir(join(about, 'licenses'))).toEqual(['LICENSE']);
    const metadata = await readFile(join(about, 'METADATA'), 'utf8');
    for (const field of ['License-Expression: Apache-2.0', 'Keywords: ', 'Project-URL: Documentation', 'httpx<1,>='])
      expect(metadata).toContain(field);
    expect(await readdir(join(wheel.installed, 'omicron_browser'))).toContain('py.typed');
    const program = 'import omicron_browser; print(omicron_browser.__version__)';
    const { stdout } = await python(['-c', program], { PYTHONPATH: wheel.installed });
    expect(stdout.trim()).toBe(version);
  });

  it('serves a chat request by request on a stack, by the client that blocks and the one that does not', async () => {
    expect(await wheel.pytest(CHATS)).toEqual({ passed: CHATS.length, failed: 0, complaints: [] });
  });
});
