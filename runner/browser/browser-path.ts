import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { ENV } from '../../contract/names.ts';

/** Debian and Ubuntu put the headless shell here; it starts 2-3 times faster than chromium and takes 190 MB less. */
const SHELLS = ['/usr/lib/chromium/chromium-headless-shell'];
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

/** Path of a command on the search path; a path is checked as it is. */
export function commandPath(name: string, searchPath: string): string | undefined {
  if (name.includes('/')) return isExecutable(name) ? name : undefined;
  return searchPath
    .split(delimiter)
    .map(folder => join(folder, name))
    .find(isExecutable);
}

/** Thrown where no browser is found; the message names the three ways to get one. */
export class BrowserNotFoundError extends Error {}

/**
 * The browser that a runner here launches: `given` (OMICRON_CHROMIUM), else what is installed on the machine, the
 * headless shell first, else Playwright's own. `playwrightPath` is `chromium.executablePath`; what it names may not exist.
 */
export function browserPath(
  given: string | undefined,
  searchPath: string,
  playwrightPath: () => string,
  shells: readonly string[] = SHELLS,
): string {
  if (given !== undefined) {
    if (isExecutable(given)) return given;
    throw new BrowserNotFoundError(`${ENV.chromiumPath} names ${given}, which is not an executable file.`);
  }
  const onPath = NAMES.map(name => commandPath(name, searchPath)).filter(path => path !== undefined);
  const found = [...shells, ...onPath].find(isExecutable) ?? ofPlaywright(playwrightPath()).find(isExecutable);
  if (found !== undefined) return found;
  throw new BrowserNotFoundError(
    `No browser was found. Do one of these: set ${ENV.chromiumPath} to a Chromium executable; run ` +
      '"npx playwright-core install --only-shell chromium"; or, on Debian and Ubuntu as root, "apt install chromium-headless-shell".',
  );
}

/** Playwright installs its headless shell beside its chromium, under the same revision. */
function ofPlaywright(playwrightPath: string): string[] {
  const match = /^(.*)chromium-(\d+)[\\/]/.exec(playwrightPath);
  if (match === null) return [playwrightPath];
  const base = `${match[1]}chromium_headless_shell-${match[2]}`;
  return [
    join(base, 'chrome-headless-shell-linux64', 'chrome-headless-shell'),
    join(base, 'chrome-linux', 'headless_shell'),
    playwrightPath,
  ];
}
