import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../local/machine.ts';

/** The version that go.mod names is built again whenever it changes: Go's cache decides. */
const PROGRAM = join(ROOT, '.omicron', 'vale');

/**
 * Vale, built from its Go module: a minute the first time. Undefined: this machine has no Go, or no C compiler, or cannot reach a module
 * proxy; `why` is called with what to do.
 */
export function buildVale(why: (reason: string) => void): string | undefined {
  mkdirSync(join(ROOT, '.omicron'), { recursive: true });
  const { status, error, stderr } = spawnSync('go', ['build', '-o', PROGRAM, 'github.com/errata-ai/vale/v3/cmd/vale'], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
  });
  if (status === 0) return PROGRAM;
  if (existsSync(PROGRAM)) return PROGRAM;
  why(
    `Vale was not built: it needs Go 1.26 or newer (https://go.dev/dl), a C compiler and a module proxy. ${error?.message ?? stderr}`,
  );
  return undefined;
}

if (import.meta.main && buildVale(reason => process.stderr.write(`${reason}\n`)) === undefined) process.exitCode = 1;
