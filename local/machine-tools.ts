import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { expiredFault, readAuthorities } from '../contract/authorities.ts';
import { ENV } from '../contract/names.ts';
import { BrowserNotFoundError, browserPath, commandPath } from '../runner/browser/browser-path.ts';
import { trustStoreProblem } from '../runner/browser/trust-store.ts';

/** Programs of a machine that runners need; undefined: it was not found. */
export interface MachineTools {
  browser: string | undefined;
  ffmpeg: string | undefined;
}

/** Finds the browser and ffmpeg that runners here would use: named by the environment, the machine's, or Playwright's. */
export function findTools(environment: Record<string, string | undefined>): MachineTools {
  const searchPath = environment.PATH ?? '';
  const ffmpeg = environment[ENV.ffmpegPath] || undefined;
  return {
    browser: findBrowser(environment).path,
    ffmpeg:
      ffmpeg !== undefined
        ? commandPath(ffmpeg, searchPath)
        : (commandPath('ffmpeg', searchPath) ?? playwrightFfmpeg(playwrightPath())),
  };
}

/** Why a tool is not found, and what to do; undefined: it is. */
export function findProblems(environment: Record<string, string | undefined>): MachineTools {
  const given = environment[ENV.ffmpegPath];
  return {
    browser: findBrowser(environment).problem,
    ffmpeg:
      findTools(environment).ffmpeg !== undefined
        ? undefined
        : given
          ? `${ENV.ffmpegPath} names ${given}, which is not an executable file.`
          : `No ffmpeg was found, so nothing can be recorded: install ffmpeg, or set ${ENV.ffmpegPath}.`,
  };
}

/** Why browsers here cannot be given the authorities that the environment has, and what to do; undefined: they can, or it has none. */
export function authoritiesProblem(environment: Record<string, string | undefined>): string | undefined {
  const text = environment[ENV.chromiumCa];
  if (!text) return undefined;
  try {
    const expired = expiredFault(readAuthorities(text), Date.now());
    return expired === undefined
      ? trustStoreProblem(environment.PATH ?? '')
      : `${ENV.chromiumCa} is wrong: ${expired}.`;
  } catch (error) {
    return `${ENV.chromiumCa} ${error instanceof Error ? error.message : String(error)}.`;
  }
}

/** The environment that passes them to runners. */
export const toolsEnvironment = ({ browser, ffmpeg }: MachineTools): Record<string, string> => ({
  ...(browser === undefined ? {} : { [ENV.chromiumPath]: browser }),
  ...(ffmpeg === undefined ? {} : { [ENV.ffmpegPath]: ffmpeg }),
});

/** Path at which Playwright keeps a browser, if it has one. Loaded when nothing else is found: Playwright takes 50 MB of a process. */
function playwrightPath(): string {
  const { chromium }: typeof import('playwright-core') = createRequire(import.meta.url)('playwright-core');
  return chromium.executablePath();
}

function findBrowser(environment: Record<string, string | undefined>): { path?: string; problem?: string } {
  const given = environment[ENV.chromiumPath] || undefined;
  try {
    return { path: browserPath(given, environment.PATH ?? '', playwrightPath) };
  } catch (error) {
    if (error instanceof BrowserNotFoundError) return { problem: error.message };
    throw error;
  }
}

/** Playwright keeps `ffmpeg-<revision>/ffmpeg-<system>` beside its browsers, in `<cache>/chromium-<revision>/<system>/`. */
function playwrightFfmpeg(chromiumPath: string): string | undefined {
  const cache = dirname(dirname(dirname(chromiumPath)));
  try {
    return readdirSync(cache)
      .filter(name => name.startsWith('ffmpeg-'))
      .flatMap(folder => readdirSync(join(cache, folder)).map(file => join(cache, folder, file)))
      .find(file => /\/ffmpeg-(linux|mac)[^/]*$/.test(file));
  } catch {
    return undefined;
  }
}
