import { execFile } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { connect } from 'node:net';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** The target: `tcp 10.0.0.1 80` is a connection, `dns 10.0.0.1 53` a question by UDP. */
export interface Target {
  readonly by: 'tcp' | 'dns';
  readonly host: string;
  readonly port: number;
}

/** `refused`: the packet arrived but no process listens, so no policy blocked it. */
export type Seen = 'open' | 'closed' | 'refused';

/** Blocked packets get no answer, hence a timeout; an open path answers in milliseconds even on a busy machine. */
const SILENT_MS = 4_000;

const NO_WAY = new Set(['ENETUNREACH', 'EHOSTUNREACH', 'EACCES', 'EPERM', 'EADDRNOTAVAIL']);

function tcp({ host, port }: Target): Promise<Seen> {
  const socket = connect({ host, port });
  return new Promise<Seen>((resolve, reject) => {
    socket.once('connect', () => resolve('open'));
    socket.once('error', ({ code = '' }: NodeJS.ErrnoException) => {
      if (code === 'ECONNREFUSED') resolve('refused');
      else if (NO_WAY.has(code) || code === 'ETIMEDOUT') resolve('closed');
      else reject(new Error(`${host}:${port}: ${code}`));
    });
    setTimeout(() => resolve('closed'), SILENT_MS);
  }).finally(() => socket.destroy());
}

/** Asks for the address of the API server's Service. */
function dns({ host, port }: Target): Promise<Seen> {
  const labels = 'kubernetes.default.svc.cluster.local'.split('.');
  const name = labels.map(label => String.fromCharCode(label.length) + label).join('');
  const question = Buffer.from(`\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00${name}\x00\x00\x01\x00\x01`, 'latin1');
  const socket = createSocket('udp4');
  return new Promise<Seen>(resolve => {
    socket.once('message', () => resolve('open'));
    socket.once('error', () => resolve('refused'));
    socket.connect(port, host, () => socket.send(question, error => error && resolve('closed')));
    setTimeout(() => resolve('closed'), SILENT_MS);
  }).finally(() => socket.close());
}

/** Tries every target at once, from the network of a process of this machine. */
export async function probeFrom(pid: number, targets: readonly Target[]): Promise<Seen[]> {
  const self = fileURLToPath(import.meta.url);
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', self, JSON.stringify(targets)];
  const { stdout } = await promisify(execFile)('nsenter', ['--target', String(pid), '--net', ...node]);
  return JSON.parse(stdout) as Seen[]; // printed below
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const targets = JSON.parse(argv[2] ?? '[]') as Target[]; // given above
  const seen = await Promise.all(targets.map(target => (target.by === 'dns' ? dns(target) : tcp(target))));
  process.stdout.write(JSON.stringify(seen), () => process.exit(0));
}
