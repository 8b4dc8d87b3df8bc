import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './local/machine.ts';

/**
 * A command of a Go module, built by the go.mod of a folder: minutes the first time, then Go's cache decides. Undefined: this machine has
 * no Go, or no C compiler, or cannot reach a module proxy; `why` is called with what to do.
 */
export function buildGoTool(
  { name, folder, module }: { name: string; folder: string; module: string },
  why: (reason: string) => void,
): string | undefined {
  const program = join(ROOT, '.omicron', name);
  mkdirSync(join(ROOT, '.omicron'), { recursive: true });
  const { status, error, stderr } = spawnSync('go', ['build', '-o', program, module], {
    cwd: folder,
    encoding: 'utf8',
  });
  if (status === 0 || existsSync(program)) return program;
  why(
    `${name} was not built: it needs Go 1.26 or newer (https://go.dev/dl), a C compiler and a module proxy. ${error?.message ?? stderr}`,
  );
  return undefined;
}
