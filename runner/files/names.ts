import { extname } from 'node:path';
import { FILE_NAME_BYTES_MAX, fileName } from '../../contract/files.ts';

/** The name of a file that a page suggests, as one that leads nowhere else; what cannot be kept of it is replaced. */
export function safeFileName(suggested: string): string {
  const name = suggested
    .toWellFormed()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this replaces
    .replaceAll(/[\u0000-\u001f\u007f/\\]+/g, '_')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/^[. ]+|(?<![. ])[. ]+$/g, '');
  return shortenName(name === '' ? 'download' : name, '');
}

/** `report.pdf` is `report (2).pdf` where the lease has a `report.pdf`. */
export function freeName(name: string, isTaken: (name: string) => boolean): string {
  let free = name;
  for (let number = 2; isTaken(free); number += 1) free = shortenName(name, ` (${number})`);
  return free;
}

/** With `addition` before the extension; the start is cut where the whole is too long. */
function shortenName(name: string, addition: string): string {
  const extension = extname(name).slice(0, 20);
  const whole = extension === '' ? name : name.slice(0, -extname(name).length);
  const start = [...whole.slice(0, FILE_NAME_BYTES_MAX)];
  while (start.length > 0 && Buffer.byteLength(start.join('') + addition + extension) > FILE_NAME_BYTES_MAX)
    start.pop();
  return fileName.parse(`${start.join('').trimEnd() || 'download'}${addition}${extension}`);
}
