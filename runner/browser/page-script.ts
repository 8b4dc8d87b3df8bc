import { readFileSync } from 'node:fs';

/** A function from a `*.page.js` file, to be called in a page: `(${pageScript(...)})(...)`. */
export const pageScript = (url: URL): string => readFileSync(url, 'utf8').trim().replace(/;$/, '');
