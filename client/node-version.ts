/** The oldest Node.js that runs the SDK; `engines` in package.json says the same. */
const OLDEST = 20;

// Other runtimes have no such version and are let through.
const version = globalThis.process?.versions?.node;
if (version !== undefined && Number(version.split('.')[0]) < OLDEST)
  throw new Error(
    `omicron-browser needs Node.js ${OLDEST} or newer, but this is ${version}: ` +
      `install a newer one (https://nodejs.org/en/download, or "nvm install ${OLDEST}").`,
  );
