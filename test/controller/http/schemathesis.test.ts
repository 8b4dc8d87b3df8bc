import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ENV } from '../../../contract/names.ts';
import { pythonOf } from '../../../local/test-tools.ts';
import { ROOT, run } from '../../local/machine.ts';
import { openSearch } from '../../search.ts';
import { startStack } from '../stack.ts';

const DOCUMENT = join(ROOT, 'docs', 'openapi.json');
/** Answers with a stream without an end. */
const EXCLUDED = ['/internal/user-actions/events', '/internal/events'];
const EXAMPLES_MAX = 8;
/**
 * JSON Schema cannot say what is refused beside it: bytes of UTF-8, cursors that were not issued, policies that contradict themselves; a
 * body may be left out where its schema is null. `get-or-create` is a value of `{session_id}` too, for other methods.
 */
const BEYOND_THE_SCHEMA =
  'positive_data_acceptance,negative_data_rejection,unsupported_method,allow_header_conformance';

const search = openSearch();

// Requests made from the document, valid and not, at a controller whose runners have no browser.
test('the controller answers whatever is sent to it as its OpenAPI document says', { timeout: 120_000 }, async () => {
  const { paths } = JSON.parse(await readFile(DOCUMENT, 'utf8')) as { paths: Record<string, unknown> };
  const tried = search.sliceOf(Object.keys(paths).filter(path => !EXCLUDED.includes(path)));
  await using stack = await startStack({ OMICRON_USER_LIMIT: 1000, OMICRON_CAPACITY: 1000 });
  const { code, stdout, stderr } = await run(
    join(pythonOf(ROOT, 'python_sdk'), '..', 'schemathesis'),
    [
      ...['run', DOCUMENT, '--url', stack.url],
      ...tried.flatMap(path => ['--include-path', path]),
      ...['--exclude-checks', BEYOND_THE_SCHEMA, '--phases', 'examples,coverage,fuzzing'],
      ...[
        '--seed',
        String(search.seed),
        '--max-examples',
        String(EXAMPLES_MAX),
        '--generation-database',
        'none',
        '--no-color',
      ],
    ],
    {
      cwd: stack.dataDir,
      env: {
        SCHEMATHESIS_HOOKS: join(ROOT, 'test', 'controller', 'http', 'schemathesis_hooks.py'),
        PYTHONDONTWRITEBYTECODE: '1',
        [ENV.serviceSecret]: stack.settings.serviceSecret,
      },
    },
  );
  expect(code, stdout + stderr).toBe(0);
  const [, generated = 0] = /(\d+) generated/.exec(stdout) ?? [];
  expect(Number(generated)).toBeGreaterThan(EXAMPLES_MAX * tried.length); // a slice of short paths has few more
});
