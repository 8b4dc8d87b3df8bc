import { buildGoTool } from '../go-tool.ts';

/** Vale, built from its Go module: a minute the first time. */
export const buildVale = (why: (reason: string) => void): string | undefined =>
  buildGoTool({ name: 'vale', folder: import.meta.dirname, module: 'github.com/errata-ai/vale/v3/cmd/vale' }, why);

if (import.meta.main && buildVale(reason => process.stderr.write(`${reason}\n`)) === undefined) process.exitCode = 1;
