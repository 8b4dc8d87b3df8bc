import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../local/machine.ts';
import { complaintOf, PYTHON_PACKAGE, python } from './wheel.ts';

describe('the Python package, as sources', { timeout: 180_000 }, () => {
  const complaintsOf = async (args: readonly string[], env: Record<string, string> = {}) =>
    complaintOf(await python(['-m', ...args], env));

  it('holds what generate.py writes', async () => {
    expect(await complaintsOf(['generate', '--check'])).toBe('');
  });

  it('has the reference that `npm run docs` writes', async () => {
    expect(await complaintsOf(['reference', '--check'])).toBe('');
  });

  it('is clean for ruff and mypy --strict', async () => {
    const sources = ['.', join(ROOT, 'examples')];
    expect(await complaintsOf(['ruff', 'check', '--no-cache', ...sources])).toBe('');
    expect(await complaintsOf(['ruff', 'format', '--no-cache', '--check', ...sources])).toBe('');
    // Kept between runs: mypy looks at what a file holds before it trusts what it knows of it. MYPYPATH: the sources, no installed copy.
    const cache = join(ROOT, '.omicron', 'mypy');
    const given = { MYPYPATH: join(PYTHON_PACKAGE, 'src') };
    expect(await complaintsOf(['mypy', '--cache-dir', cache], given)).toBe('');
  });
});
