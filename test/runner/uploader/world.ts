import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { linkSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateBucketCommand, GetObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { onTestFailed } from 'vitest';
import { ENV, RUNNER_COMMAND } from '../../../contract/names.ts';
import { UPLOAD_ORDER_FILE, type UploadOrder } from '../../../contract/reports.ts';
import type { Artifact } from '../../../contract/session.ts';
import { type Stack, someUser, startStack } from '../../controller/stack.ts';
import { dnsServer } from '../../egress/dns-server.ts';
import { PUBLIC_ADDRESS } from '../../egress/sites.ts';
import { eventually } from '../../eventually.ts';
import type { FakeRunner } from '../../fakes/runner.ts';
import { testCertificate } from '../../site/certificate.ts';
import { type Front, storeFront } from './front.ts';
import { motoServer } from './moto.ts';

export const BUCKET = 'omicron-test-artifacts';

/** Controller, egress proxy, S3 and STS, as pods find them: all real, the runner alone has no browser. */
export interface UploadWorld extends AsyncDisposable {
  readonly stack: Stack;
  readonly front: Front;
  readonly egressPort: number;
  readonly endpoints: { readonly s3: string; readonly sts: string };
  /** The account's administrator, who goes straight to the store. */
  readonly s3: S3Client;
  lease(): Promise<LeasedRunner>;
}

/** A leased runner that records: its folder, its order, and the uploader beside it. */
export interface LeasedRunner extends AsyncDisposable {
  readonly runner: FakeRunner;
  readonly order: UploadOrder;
  readonly outputDir: string;
  readonly sessionPath: string;
  /** As the runner does when its lease begins. */
  writeOrder(change?: Partial<UploadOrder>): void;
  /** Starts the uploader's process; again after it ended. */
  upload(env?: Record<string, string>): Promise<Uploader>;
  artifacts(): Promise<Artifact[]>;
  /** The object's content, and its digest. */
  object(name: string): Promise<{ bytes: number; sha256: string }>;
  /** A second name for the file, which the uploader does not delete. */
  keep(name: string): () => { bytes: number; sha256: string };
  files(): string[];
}

export interface Uploader {
  readonly child: ChildProcess;
  output(): string;
  /** SIGTERM, as the kubelet sends it when the browser's container has ended; resolves with the exit code. */
  end(): Promise<number | null>;
  kill(): Promise<void>;
}

const digestOf = (content: Buffer) => ({
  bytes: content.length,
  sha256: createHash('sha256').update(content).digest('hex'),
});

/** With `tls` the store speaks it, under a certificate that the uploader knows. */
export async function uploadWorld({ tls = false } = {}): Promise<UploadWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'omicron-test-uploader-'));
  const closing = new AsyncDisposableStack();
  closing.defer(() => rmSync(folder, { recursive: true, force: true }));
  const files = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') };
  const { cert, key } = testCertificate('s3.test');
  writeFileSync(files.certFile, cert);
  writeFileSync(files.keyFile, key);
  const moto = closing.use(await (tls ? motoServer(PUBLIC_ADDRESS, files) : motoServer('127.0.0.1')));
  const front = closing.use(await storeFront(PUBLIC_ADDRESS, moto.port));
  const dns = await dnsServer({ 's3.test': { a: [PUBLIC_ADDRESS] }, 'sts.test': { a: [PUBLIC_ADDRESS] } });
  closing.defer(() => dns.close());
  // The certificate has one name; moto distinguishes S3 and STS by the request.
  const endpoints = tls
    ? { s3: `https://s3.test:${moto.port}`, sts: `https://s3.test:${moto.port}` }
    : { s3: `http://s3.test:${front.port}`, sts: `http://sts.test:${front.port}` };
  const stack = closing.use(
    await startStack({
      OMICRON_PROVIDER: 'kubernetes',
      [ENV.egressUrl]: 'http://127.0.0.1:1',
      [ENV.artifactStore]: `s3://${BUCKET}`,
      OMICRON_ARTIFACT_ENDPOINTS: Object.values(endpoints).join(','),
      OMICRON_POOL_IDLE: 1,
      OMICRON_USER_LIMIT: 100,
    }),
  );
  const egress = await egressProcess(stack, dns.address);
  closing.defer(egress.close);
  const s3 = new S3Client({
    region: 'eu-central-1',
    endpoint: tls ? `https://${PUBLIC_ADDRESS}:${moto.port}` : `http://127.0.0.1:${moto.port}`,
    requestHandler: new NodeHttpHandler({ httpsAgent: new Agent({ ca: cert, servername: 's3.test' }) }),
    forcePathStyle: true,
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  });
  closing.defer(() => s3.destroy());
  await s3.send(
    new CreateBucketCommand({ Bucket: BUCKET, CreateBucketConfiguration: { LocationConstraint: 'eu-central-1' } }),
  );
  const tokenFile = join(folder, 'token');
  writeFileSync(tokenFile, 'a token of the cluster');

  return {
    ...{ stack, front, s3, endpoints, egressPort: egress.port },
    lease: () =>
      leasedRunner(stack, s3, folder, env => ({
        ...awsEnv(tokenFile, endpoints, egress.port, stack.url),
        NODE_EXTRA_CA_CERTS: files.certFile,
        ...env,
      })),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** The environment of the container (manifests/parts/runner-containers.ts). */
export const awsEnv = (
  tokenFile: string,
  endpoints: { s3: string; sts: string },
  egressPort: number,
  controllerUrl: string,
): Record<string, string> => ({
  [ENV.controllerUrl]: controllerUrl,
  [ENV.egressUrl]: `http://127.0.0.1:${egressPort}`,
  [ENV.artifactStore]: `s3://${BUCKET}`,
  [ENV.logLevel]: 'debug',
  AWS_REGION: 'eu-central-1',
  AWS_ENDPOINT_URL_S3: endpoints.s3,
  AWS_ENDPOINT_URL_STS: endpoints.sts,
  AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/uploader',
  AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile,
  HOME: tmpdir(),
});

async function egressProcess(stack: Stack, dns: string) {
  const child = spawn(process.execPath, ['egress/main.ts'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      [ENV.controllerUrl]: stack.url,
      [ENV.egressSecret]: stack.settings.egressSecret,
      OMICRON_EGRESS_HOST: '127.0.0.1',
      OMICRON_EGRESS_PORT: '0',
      OMICRON_EGRESS_ADMIN_HOST: '127.0.0.1',
      OMICRON_EGRESS_ADMIN_PORT: '0',
      OMICRON_EGRESS_ALLOWED_CIDRS: `${PUBLIC_ADDRESS}/32`,
      OMICRON_EGRESS_DNS_SERVERS: dns,
    },
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const line = await eventually('the egress proxy is ready', () =>
    output.split('\n').find(text => text.includes('egress proxy ready')),
  );
  const { port }: { port: number } = JSON.parse(line);
  return {
    port,
    async close() {
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

async function leasedRunner(
  stack: Stack,
  s3: S3Client,
  folder: string,
  env: (extra: Record<string, string>) => Record<string, string>,
): Promise<LeasedRunner> {
  const lease = await stack.lease({ user_id: someUser() });
  const sessionPath = `/internal/browser-sessions/${lease.session_id}`;
  const session = (await stack.call('GET', sessionPath)).body as { runner_id: string };
  const runner = stack.machine.runner(session.runner_id);
  const { redeemed, assignment } = runner;
  if (redeemed === null || assignment === null) throw new Error('the runner is not leased');
  if (redeemed.upload_credential === undefined) throw new Error('the runner was given no credential for its uploader');
  const order: UploadOrder = {
    session_id: lease.session_id,
    epoch: lease.epoch,
    runner_id: runner.id,
    record_video: true,
    artifacts_prefix: assignment.artifacts_prefix,
    artifact_token: redeemed.artifact_token,
    upload_credential: redeemed.upload_credential,
  };
  const outputDir = join(folder, runner.id);
  const kept = join(folder, 'kept');
  mkdirSync(outputDir);
  mkdirSync(kept, { recursive: true });
  const uploaders: Uploader[] = [];
  return {
    ...{ runner, order, outputDir, sessionPath },
    writeOrder: (change = {}) =>
      writeFileSync(join(outputDir, UPLOAD_ORDER_FILE), JSON.stringify({ ...order, ...change }), { mode: 0o600 }),
    async upload(extra = {}) {
      const started = uploader(env({ [ENV.runnerId]: runner.id, [ENV.outputDir]: outputDir, ...extra }));
      uploaders.push(started);
      onTestFailed(() => console.error(started.output()));
      await eventually(
        'the uploader waits or has ended',
        () => started.child.exitCode !== null || started.output() !== '',
      );
      return started;
    },
    async artifacts() {
      const { body } = await stack.call('GET', `${sessionPath}/artifacts`);
      return (body as { artifacts: Artifact[] }).artifacts;
    },
    async object(name) {
      const { Body } = await s3.send(new GetObjectCommand({ Bucket: BUCKET, Key: `${order.artifacts_prefix}${name}` }));
      return digestOf(Buffer.from((await Body?.transformToByteArray()) ?? []));
    },
    keep(name) {
      const second = join(kept, `${runner.id}-${name}`);
      linkSync(join(outputDir, name), second);
      return () => digestOf(readFileSync(second));
    },
    files: () => readdirSync(outputDir).sort(),
    async [Symbol.asyncDispose]() {
      for (const each of uploaders) await each.kill();
      await stack.call('DELETE', sessionPath);
      // the fake runner reports a recording as it goes, which another test would count
      await eventually('the runner is gone', () => !stack.machine.runners.has(runner.id));
    },
  };
}

function uploader(env: Record<string, string>): Uploader {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', RUNNER_COMMAND.uploaderMain], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...env },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const exited = once(child, 'close').then(([code]) => code as number | null); // documented arguments of the event
  return {
    child,
    output: () => output,
    end() {
      child.kill('SIGTERM');
      return exited;
    },
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/**
 * An encoder at work on a file: what the runner's does (runner/recording/ffmpeg.ts), but of pictures that are encoded
 * already.
 */
export interface Encoder {
  /** Stands still, the file unfinished, until it goes on or ends. */
  pause(): void;
  resume(): void;
  /** Ends the file, as the runner does. */
  end(): Promise<void>;
  /** Ends without a last word. */
  kill(): Promise<void>;
}

/** Four seconds of noise, 6 MiB. */
export function clip(folder: string): string {
  const path = join(folder, 'clip.webm');
  const source = 'testsrc2=s=640x480:r=15:d=4,noise=alls=60:allf=t';
  const args = [
    '-v',
    'error',
    '-f',
    'lavfi',
    '-i',
    source,
    '-c:v',
    'libvpx',
    '-deadline',
    'realtime',
    '-cpu-used',
    '8',
  ];
  execFileSync('ffmpeg', [...args, '-b:v', '13M', '-minrate', '13M', '-g', '15', '-y', path]);
  return path;
}

/** Repeats the clip into a growing file, `speed` times as fast as it plays. */
export function encode(clipPath: string, path: string, speed: number): Encoder {
  const child = spawn(
    'ffmpeg',
    [
      ...['-v', 'error', '-readrate', String(speed), '-stream_loop', '-1', '-i', clipPath, '-c', 'copy'],
      ...['-f', 'webm', '-cluster_time_limit', '1000', '-flush_packets', '1', '-y', path],
    ],
    { stdio: ['pipe', 'ignore', 'inherit'] },
  );
  const exited = once(child, 'exit');
  return {
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    async end() {
      child.kill('SIGCONT');
      child.stdin.end('q');
      await exited;
    },
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
