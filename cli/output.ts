export const OUTPUT_FORMATS = ['json', 'table'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** Takes the answer of a command. Progress and errors go to stderr. */
export interface Output {
  /** Rows as a table, or the whole document as JSON. */
  rows(document: unknown, columns: string[], rows: (string | number | null)[][]): void;
  /** Names and values, or the whole document as JSON; `jsonOnly` is left out of the table. */
  fields(document: Record<string, unknown>, jsonOnly?: Record<string, unknown>): void;
  /** One of many documents that come one after the other: a line of JSON. */
  line(document: unknown): void;
}

export function output(format: OutputFormat, stdout: { write(text: string): unknown }): Output {
  const json = (document: unknown) => stdout.write(`${JSON.stringify(document, null, 2)}\n`);
  const table = (lines: string[][]) => {
    const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map(line => line[column]?.length ?? 0)));
    for (const line of lines) {
      const padded = line.map((cell, column) => (column < line.length - 1 ? cell.padEnd(widths[column] ?? 0) : cell));
      stdout.write(`${padded.join('  ').trimEnd()}\n`);
    }
  };
  return {
    rows(document, columns, rows) {
      if (format === 'json') json(document);
      else table([columns, ...rows.map(row => row.map(formatCell))]);
    },
    line: document => void stdout.write(`${JSON.stringify(document)}\n`),
    fields(document, jsonOnly = {}) {
      if (format === 'json') json({ ...document, ...jsonOnly });
      else table(Object.entries(document).map(([name, value]) => [name, formatCell(value)]));
    },
  };
}

/** Titles are chosen by pages and ids by callers: control characters are replaced, so that none moves the cursor. */
const formatCell = (value: unknown): string =>
  (typeof value === 'string' ? value : value === null || value === undefined ? '-' : JSON.stringify(value))
    .replace(/\s+/g, ' ')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this replaces
    .replace(/[\u0000-\u001f\u007f-\u009f]/g, '\ufffd');
