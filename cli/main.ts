import { EXIT } from './exit.ts';
import { runCommand } from './program.ts';

// Entry of the command `omicron-browser`.

/** A signal sent to the process group arrives twice: directly and through bin.js. */
const SAME_SIGNAL_MS = 1_000;

const stop = new AbortController();
let stoppedAtMs = 0;
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(name, () => {
    if (!stop.signal.aborted) {
      stoppedAtMs = performance.now();
      stop.abort(new Error(`stopped by ${name}`));
    } else if (performance.now() - stoppedAtMs > SAME_SIGNAL_MS) process.exit(EXIT.interrupted);
  });

// Writing to a closed terminal or to `| head` fails: a stack must stop cleanly all the same.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

const { stdin, stdout, stderr } = process;
process.exitCode = await runCommand(process.argv.slice(2), {
  environment: process.env,
  signal: stop.signal,
  stdin,
  stdout,
  stderr,
});
