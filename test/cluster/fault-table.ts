import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** The cost of one fault. */
export interface FaultLine {
  readonly fault: string;
  readonly sessions: number;
  readonly sessionsLost: number;
  readonly videos: number;
  readonly videosLost: number;
  /** From the fault, or the end of the outage, until surviving leases serve and lost ones have a new browser. */
  readonly recoveryMs: number;
  /** Pods, Services and rows left over; must be 0. */
  readonly orphans: number;
}

/** Writes the lines to a file, and prints them as the table of docs/operations.md. */
export function report(lines: readonly FaultLine[], file: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(lines, null, 2)}\n`);
  const table = [
    '| fault | sessions lost | videos lost | recovered after | orphans |',
    '|---|---:|---:|---:|---:|',
    ...lines.map(
      it =>
        `| ${it.fault} | ${it.sessionsLost} of ${it.sessions} | ${it.videosLost} of ${it.videos} | ${(it.recoveryMs / 1000).toFixed(1)} s | ${it.orphans} |`,
    ),
  ];
  process.stdout.write(`\n${table.join('\n')}\n`);
}
