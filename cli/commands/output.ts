import { UsageError } from './exit.ts';

/** Where a command writes what it was asked for. Progress and errors go to stderr. */
export interface Output {
  readonly format: 'json' | 'table';
  /** Rows as a table, or the whole document as JSON. */
  rows(document: unknown, columns: string[], rows: (string | number | null)[][]): void;
  /** Names and values, or the whole document as JSON. */
  fields(document: Record<string, unknown>): void;
}

/** `-o json` or `-o table`; a table on a terminal, else JSON. */
export function output(format: string | undefined, stdout: { isTTY?: boolean; write(text: string): unknown }): Output {
  const chosen = format ?? (stdout.isTTY ? 'table' : 'json');
  if (chosen !== 'json' && chosen !== 'table') throw new UsageError(`-o takes json or table, not "${chosen}".`);
  const json = (document: unknown) => stdout.write(`${JSON.stringify(document, null, 2)}\n`);
  const table = (lines: string[][]) => {
    const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map(line => line[column]?.length ?? 0)));
    for (const line of lines) {
      const padded = line.map((cell, column) => (column < line.length - 1 ? cell.padEnd(widths[column] ?? 0) : cell));
      stdout.write(`${padded.join('  ').trimEnd()}\n`);
    }
  };
  return {
    format: chosen,
    rows(document, columns, rows) {
      if (chosen === 'json') json(document);
      else table([columns, ...rows.map(row => row.map(cell))]);
    },
    fields(document) {
      if (chosen === 'json') json(document);
      else table(Object.entries(document).map(([name, value]) => [name, cell(value)]));
    },
  };
}

/** Pages choose titles and users choose ids: what would move the cursor is shown, not sent. */
const cell = (value: unknown): string =>
  (typeof value === 'string' ? value : value === null || value === undefined ? '-' : JSON.stringify(value)).replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this replaces
    /[\u0000-\u001f\u007f-\u009f]/g,
    '\ufffd',
  );
