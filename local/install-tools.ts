import type { MachineTools } from './machine-tools.ts';

/** Effects of an installation; a test gives its own. */
export interface Machine {
  /** The present state. */
  find(): MachineTools;
  /** Whether the browser's program starts at all: a downloaded one may miss system libraries. */
  starts(browser: string): boolean;
  /** Runs a command to its end. False: it failed. */
  run(command: string, args: string[]): boolean;
  /** Runs Playwright's own command line. */
  playwright(args: string[]): boolean;
  /** Whether apt-get is here and this user may use it. */
  mayApt: boolean;
  say(line: string): void;
}

/** The three ways to get what is missing. */
const describeWays = (missing: string) =>
  `Missing on this machine: ${missing}. Do one of these and try again:
  1. let Playwright download its own:  npx playwright-core install --only-shell chromium ffmpeg
     (needs a way to its download servers; libraries: npx playwright-core install-deps chromium)
  2. Debian or Ubuntu, as root:        apt-get install chromium-headless-shell ffmpeg
  3. name what you have:               OMICRON_CHROMIUM=/path/to/chromium OMICRON_FFMPEG=/path/to/ffmpeg`;

/**
 * Makes sure that there is a browser that starts and an ffmpeg: what is on the machine, else Playwright's own install, else
 * apt as root. Throws an Error that names the three ways.
 */
export function installTools(machine: Machine): MachineTools & { browser: string; ffmpeg: string } {
  const steps = [
    () => {
      machine.say('No browser or ffmpeg was found; letting Playwright install its own ...');
      machine.playwright(['install', '--only-shell', 'chromium', 'ffmpeg']);
    },
    () => {
      if (!machine.mayApt) return;
      const { browser, ffmpeg } = machine.find();
      machine.say('Installing with apt-get ...');
      machine.run('apt-get', ['update']);
      if (browser !== undefined && !machine.starts(browser)) machine.playwright(['install-deps', 'chromium']);
      const apt = (name: string) => machine.run('apt-get', ['install', '-y', '--no-install-recommends', name]);
      if (browser === undefined && !apt('chromium-headless-shell')) apt('chromium');
      if (ffmpeg === undefined) apt('ffmpeg');
    },
  ];
  for (let step = 0; ; step++) {
    const { browser, ffmpeg } = machine.find();
    const starts = browser !== undefined && machine.starts(browser);
    if (starts && ffmpeg !== undefined) return { browser, ffmpeg };
    const next = steps[step];
    if (next === undefined)
      throw new Error(
        describeWays(
          [
            browser === undefined ? 'a Chromium browser' : !starts ? `libraries of ${browser}` : '',
            ffmpeg === undefined ? 'ffmpeg' : '',
          ]
            .filter(Boolean)
            .join(' and '),
        ),
      );
    next();
  }
}
