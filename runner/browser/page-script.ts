import { readFileSync } from 'node:fs';

/** A function from a `*.page.js` file, to be called in a page: `(${pageScript(...)})(...)`. */
export const pageScript = (url: URL): string => readFileSync(url, 'utf8').trim().replace(/;$/, '');

/** A script that is a function, for Playwright's `evaluate`, which sends the text of the function that it is given. */
export const pageFunction = <Args extends readonly unknown[]>(script: string): ((...args: Args) => unknown) =>
  Object.assign(() => undefined, { toString: () => script });
