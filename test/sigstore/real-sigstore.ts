import { execFileSync, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { freePort } from '../../local/free-port.ts';
import { eventually } from '../eventually.ts';
import { fakeIssuer } from '../fakes/issuer.ts';
import { buildGoTool } from '../go-tool.ts';
import { newFolder, run } from '../local/machine.ts';

const FULCIO = 'github.com/sigstore/fulcio';
const HERE = import.meta.dirname;
const PROGRAMS = {
  fulcio: { folder: HERE, module: FULCIO },
  'timestamp-server': { folder: HERE, module: 'github.com/sigstore/timestamp-authority/v2/cmd/timestamp-server' },
  'rekor-server': { folder: HERE, module: 'github.com/sigstore/rekor-tiles/v2/cmd/rekor-server/posix' },
  cosign: { folder: HERE, module: 'github.com/sigstore/cosign/v3/cmd/cosign' },
} as const;
/** Name of the log in its checkpoints. */
const ORIGIN = 'rekor.of-the-test';
/** Before any certificate of these authorities. */
const START = '2020-01-01T00:00:00Z';

type Programs = Readonly<Record<keyof typeof PROGRAMS, string>>;

/** Builds Sigstore's programs and cosign. Throws with what to do where this machine cannot. */
export function buildSigstore(): Programs {
  const built = Object.entries(PROGRAMS).map(([name, source]) => [
    name,
    buildGoTool({ name, ...source }, why => {
      throw new Error(why);
    }),
  ]);
  return Object.fromEntries(built);
}

type Started = { readonly answer: string; readonly stop: () => Promise<void> };

async function start(program: string, args: readonly string[], ready: string): Promise<Started> {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const ended = () => child.exitCode !== null || child.signalCode !== null;
  const answer = await eventually(`${program} answers`, async () => {
    if (ended()) throw new Error(said);
    const response = await fetch(ready).catch(() => undefined);
    return response?.ok ? await response.text() : undefined;
  });
  return {
    answer,
    async stop() {
      child.kill();
      if (!ended()) await once(child, 'exit');
    },
  };
}

/** Fulcio with a root of its own; it writes certificates as Sigstore's own does for GitHub's jobs, for this issuer. */
async function startFulcio(program: string, issuer: string, folder: string) {
  const source = execFileSync('go', ['list', '-m', '-f', '{{.Dir}}', FULCIO], {
    cwd: HERE,
    encoding: 'utf8',
  });
  const text = await readFile(join(source.trim(), 'config/identity/config.yaml'), 'utf8');
  const own = parse(text.replaceAll(/^( *\*[\w-]+):/gm, '$1 :')); // YAML 1.2 takes the colon for a part of the alias
  const known = {
    'issuer-url': issuer,
    'client-id': 'sigstore',
    type: 'ci-provider',
    'ci-provider': 'github-workflow',
  };
  const config = join(folder, 'fulcio.yaml');
  await writeFile(config, stringify({ ...own, 'oidc-issuers': { [issuer]: known } }));
  const [port, grpcPort, metricsPort] = [await freePort(), await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const { answer, stop } = await start(
    program,
    [
      ...['serve', '--ca=ephemeralca', '--ct-log-url=', `--config-path=${config}`, `--metrics-port=${metricsPort}`],
      ...['--host=127.0.0.1', `--port=${port}`, '--grpc-host=127.0.0.1', `--grpc-port=${grpcPort}`],
      `--legacy-unix-domain-socket=${join(folder, `fulcio-${port}.sock`)}`,
    ],
    `${url}/api/v2/trustBundle`,
  );
  const { chains } = JSON.parse(answer) as { chains: { certificates: string[] }[] };
  return { url, chain: chains[0]?.certificates.join('\n') ?? '', stop };
}

/** A timestamp authority with a root of its own. One at a time: its port for metrics is fixed. */
async function startTimestampAuthority(program: string) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const args = ['serve', '--host=127.0.0.1', `--port=${port}`, '--disable-ntp-monitoring'];
  const { answer, stop } = await start(program, args, `${url}/api/v1/timestamp/certchain`);
  return { url, chain: answer, stop };
}

/** Rekor of version 2, with its log in a folder. */
async function startRekor(program: string, folder: string) {
  const key = generateKeyPairSync('ed25519');
  const file = join(folder, 'log.pem');
  await writeFile(file, key.privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const [port, grpcPort, metricsPort] = [await freePort(), await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const { stop } = await start(
    program,
    [
      ...['serve', `--hostname=${ORIGIN}`, `--storage-dir=${join(folder, 'log')}`, '--checkpoint-interval=200ms'],
      ...[`--signer-filepath=${file}`, '--batch-max-age=100ms', `--http-metrics-port=${metricsPort}`],
      ...[`--http-port=${port}`, `--grpc-port=${grpcPort}`],
    ],
    `${url}/healthz`,
  );
  return { url, publicKey: String(key.publicKey.export({ type: 'spki', format: 'pem' })), stop };
}

/** Authorities and logs that a trusted root can name: ours, and others of the same programs. */
export type Trusted = 'fulcio' | 'otherFulcio' | 'rekor' | 'tsa' | 'otherTsa';

/** Fulcio, Rekor and a timestamp authority on loopback, and an issuer of tokens that both know. */
export async function startSigstore(programs: Programs) {
  const folder = await newFolder();
  const issuer = await fakeIssuer('sigstore');
  const fulcio = await startFulcio(programs.fulcio, issuer.url, folder);
  const otherFulcio = await startFulcio(programs.fulcio, issuer.url, folder);
  await otherFulcio.stop();
  const otherTsa = await startTimestampAuthority(programs['timestamp-server']);
  await otherTsa.stop();
  const tsa = await startTimestampAuthority(programs['timestamp-server']);
  const rekor = await startRekor(programs['rekor-server'], folder);
  const write = async (name: string, text: string) => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };
  const chainOf = async (name: string, { url, chain }: { url: string; chain: string }) =>
    `url=${url},certificate-chain=${await write(`${name}.pem`, chain)}`;
  const arguments_: Readonly<Record<Trusted, string>> = {
    fulcio: `--fulcio=${await chainOf('fulcio', fulcio)}`,
    otherFulcio: `--fulcio=${await chainOf('other-fulcio', otherFulcio)}`,
    rekor: `--rekor=url=http://${ORIGIN},public-key=${await write('log.pub', rekor.publicKey)},start-time=${START},origin=${ORIGIN}`,
    tsa: `--tsa=${await chainOf('tsa', tsa)}`,
    otherTsa: `--tsa=${await chainOf('other-tsa', otherTsa)}`,
  };
  return {
    issuer,
    urls: { fulcio: fulcio.url, rekor: rekor.url, timestampAuthority: tsa.url },
    /** A trusted root as cosign makes one. */
    async trustedRoot(...names: readonly Trusted[]): Promise<string> {
      const out = join(folder, `${names.join('-')}.json`);
      const args = ['trusted-root', 'create', `--out=${out}`, ...names.map(name => arguments_[name])];
      const { code, stderr } = await run(programs.cosign, args);
      if (code !== 0) throw new Error(stderr);
      return out;
    },
    async [Symbol.asyncDispose](): Promise<void> {
      for (const { stop } of [fulcio, tsa, rekor]) await stop();
      await issuer[Symbol.asyncDispose]();
    },
  };
}
