import { spawn } from 'node:child_process';

export interface ProgramBounds {
  /** Heap and buffers together; where the system has no such limit, the heap alone. */
  readonly memoryBytesMax: number;
  /** Time on the clock, and of the processor. */
  readonly secondsMax: number;
  readonly outputBytesMax: number;
  /** The program ends when it aborts. */
  readonly signal: AbortSignal;
}

/** A Node process that does nothing has reserved this much for its data: 560 MiB of it for code, measured with Node 24. */
const RESERVED_BYTES = 576 * 1024 * 1024;
/** The rest is for buffers and the engine itself. */
const HEAP_SHARE = 0.75;
const MIB = 1024 * 1024;

/**
 * Runs a program of ours that decodes what strangers made: its input is its standard input, its result its standard output. A thread
 * would not do, since the limit of its heap does not bound its buffers. Rejects when the program fails or exceeds a bound.
 */
export async function runBounded(
  file: string,
  input: Buffer,
  { memoryBytesMax, secondsMax, outputBytesMax, signal }: ProgramBounds,
): Promise<Buffer> {
  signal.throwIfAborted();
  const limits = [
    `ulimit -d ${Math.ceil((RESERVED_BYTES + memoryBytesMax) / 1024)} 2>/dev/null || true`,
    `ulimit -t ${secondsMax} 2>/dev/null || true`,
    'exec "$@"',
  ].join('\n');
  const heap = `--max-old-space-size=${Math.floor((memoryBytesMax * HEAP_SHARE) / MIB)}`;
  // A decoder's messages may quote its document, so they reach no log; the program gets nothing of this process's environment.
  const child = spawn('/bin/sh', ['-c', limits, 'sh', process.execPath, heap, file], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: {},
  });
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const late = setTimeout(
    () => reject(new Error(`The file could not be read in ${secondsMax} s.`)),
    secondsMax * 1_000,
  );
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const chunks: Buffer[] = [];
  let bytes = 0;
  child.stdout.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > outputBytesMax) reject(new Error(`The text of the file takes more than ${outputBytesMax} bytes.`));
  });
  child.once('error', reject);
  child.once('close', code => {
    if (code === 0) resolve(Buffer.concat(chunks));
    else reject(new Error('The file could not be read: it is damaged or encrypted, or takes too much memory or time.'));
  });
  child.stdin.on('error', () => undefined).end(input); // it may end before it has read all
  try {
    return await promise;
  } finally {
    clearTimeout(late);
    signal.removeEventListener('abort', onAbort);
    child.kill('SIGKILL');
  }
}
