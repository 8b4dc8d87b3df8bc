import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { keylessSigner } from '../../release/oci/keyless.ts';
import { openLayout } from '../../release/oci/layout.ts';
import { startRegistry } from '../../release/oci/local-registry.ts';
import { pushRelease } from '../../release/oci/push.ts';
import { type StatementSigner, signRelease } from '../../release/oci/sign.ts';
import { readSigner, type SignerOptions } from '../../release/oci/signer-options.ts';
import { newFolder, ROOT, run } from '../local/machine.ts';
import { changedBundles, payloadOf } from '../release/changed-bundles.ts';
import { jobToken, startJob, WORKFLOW } from './job.ts';
import { buildSigstore, startSigstore } from './real-sigstore.ts';

// Sigstore's own programs on this machine: no CT log, whose program needs a database.

const VERSION = '1.2.3';
const COMMIT = 'c0ffee'.padEnd(40, '0');
const SBOM = { bomFormat: 'CycloneDX', specVersion: '1.5', components: [] };

let programs: ReturnType<typeof buildSigstore>;
let sigstore: Awaited<ReturnType<typeof startSigstore>>;
beforeAll(async () => {
  programs = buildSigstore();
  sigstore = await startSigstore(programs);
});
afterAll(async () => {
  await sigstore?.[Symbol.asyncDispose]();
});
afterEach(() => {
  vi.unstubAllEnvs();
});

/** A release of one image and one package, signed. */
async function signedRelease(signer: StatementSigner) {
  const layout = await openLayout(join(await newFolder(), 'release'));
  const config = { mediaType: 'application/vnd.oci.image.config.v1+json', bytes: Buffer.from('{}') };
  const layers = [{ mediaType: 'application/vnd.oci.image.layer.v1.tar', bytes: Buffer.from('files') }];
  for (const part of ['runner', 'packages'])
    await layout.add({ name: `${part}:${VERSION}`, config, layers, annotations: { part } });
  const sboms = { runner: SBOM, packages: SBOM };
  const builder = 'https://github.com/example/omicron-browser/actions/runs/3';
  expect(await signRelease(layout, { version: VERSION, signer, commit: COMMIT, builder, sboms })).toHaveLength(2);
  return layout;
}

/** The signer of `release sign` in a job of GitHub, with these options. */
async function signerOfJob(options: SignerOptions = {}): Promise<StatementSigner> {
  const job = await startJob(sigstore.issuer);
  for (const [name, value] of Object.entries(job.variables)) vi.stubEnv(name, value);
  return await readSigner({ ...sigstore.urls, rekorVersion: '2', ...options }, process.env);
}

const verify = (from: string, root: string, options: Record<string, string> = {}) =>
  run(process.execPath, [
    ...[join(ROOT, 'cli', 'bin.js'), 'verify', VERSION, '--from', from, '--only', 'runner', 'packages'],
    ...['--trusted-root', root, '-o', 'json'],
    ...Object.entries({ '--identity': WORKFLOW, '--issuer': sigstore.issuer.url, ...options }).flat(),
  ]);
const faultsOf = (stdout: string): string[] =>
  (JSON.parse(stdout) as { parts: { faults: string[] }[] }).parts.map(({ faults }) => faults.join('\n'));

describe('a release that a job of GitHub signed, with a certificate of Fulcio, an entry of Rekor and a timestamp', () => {
  let folder: string;
  let root: string;
  beforeAll(async () => {
    folder = (await signedRelease(await signerOfJob())).folder;
    root = await sigstore.trustedRoot('fulcio', 'rekor', 'tsa');
  });

  it('is verified by the workflow and its issuer, by name or pattern, without any network', async () => {
    const { code, stdout, stderr } = await verify(folder, root);
    expect([code, stderr]).toEqual([0, '']);
    const { parts } = JSON.parse(stdout) as { parts: { commit: string }[] };
    expect(parts.map(({ commit }) => commit)).toEqual([COMMIT, COMMIT]);
    const pattern = 'https://github\\.com/example/omicron-browser/\\.github/workflows/release\\.yml@refs/tags/v.+';
    const byPattern = [join(ROOT, 'cli', 'bin.js'), 'verify', VERSION, '--from', folder, '--only', 'runner'];
    const args = ['--trusted-root', root, '--identity-regexp', pattern, '--issuer', sigstore.issuer.url];
    expect(await run(process.execPath, [...byPattern, ...args])).toMatchObject({ code: 0, stderr: '' });
    // a part of the name is not the name
    const [part = ''] = pattern.split('@');
    const short = args.map(each => (each === pattern ? part : each));
    const refused = await run(process.execPath, [...byPattern, ...short]);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(`it is signed by ${WORKFLOW}`)]);
  });

  it.each([
    ['another workflow', { '--identity': WORKFLOW.replace('release.yml', 'ci.yml') }, `it is signed by ${WORKFLOW}`],
    ['a name with more behind it', { '--identity': `${WORKFLOW}0` }, `it is signed by ${WORKFLOW}`],
    ['another issuer', { '--issuer': 'https://accounts.google.com' }, 'of the issuer http://127.0.0.1:'],
  ])('is refused where %s is wanted', async (_, options, reason) => {
    const { code, stdout } = await verify(folder, root, options);
    expect(code).toBe(1);
    for (const faults of faultsOf(stdout)) {
      expect(faults).toContain('no valid signature: ');
      expect(faults).toContain('no valid provenance: ');
      expect(faults).toContain(reason);
    }
  });

  it.each([
    ['another Fulcio', ['otherFulcio', 'rekor', 'tsa'], 'its certificate is of no authority of the trusted root'],
    [
      'another timestamp authority',
      ['fulcio', 'rekor', 'otherTsa'],
      'its timestamp is of no authority of the trusted root',
    ],
    ['no log, as its own', ['fulcio', 'tsa'], 'its entry is in no transparency log of the trusted root'],
  ] as const)('is refused by a root with %s', async (_, names, reason) => {
    const { code, stdout } = await verify(folder, await sigstore.trustedRoot(...names));
    expect(code).toBe(1);
    for (const faults of faultsOf(stdout)) expect(faults).toContain(reason);
  });

  it('is refused where a statement was changed after it was signed', async () => {
    const copy = await changedBundles(folder, (envelope, statement) => {
      envelope.payload = payloadOf(statement.replace('"predicate":', '"changed":1,"predicate":'));
    });
    const { code, stdout } = await verify(copy, root);
    expect(code).toBe(1);
    for (const faults of faultsOf(stdout)) expect(faults).toContain('about something else');
  });

  it('is verified from a registry, by cosign too: signature, provenance and SBOM, and refused by it for another workflow', async () => {
    await using registry = await startRegistry(true);
    const base = `${registry.host}/omicron-browser`;
    await pushRelease(await openLayout(folder), base);
    expect(await verify(base, root)).toMatchObject({ code: 0, stderr: '' });
    const cosign = (command: string, identity: string, ...args: string[]) =>
      run(programs.cosign, [
        ...[command, '--trusted-root', root, '--certificate-oidc-issuer', sigstore.issuer.url, '--allow-http-registry'],
        // this Sigstore has no CT log
        ...['--certificate-identity', identity, '--insecure-ignore-sct', '--use-signed-timestamps', ...args],
        `${base}/runner:${VERSION}`,
      ]);
    for (const args of [
      ['verify'],
      ['verify-attestation', '--type=slsaprovenance1'],
      ['verify-attestation', '--type=cyclonedx'],
    ]) {
      const [command = '', ...options] = args;
      const { code, stderr } = await cosign(command, WORKFLOW, ...options);
      expect(stderr).toContain(
        'The code-signing certificate was verified using trusted certificate authority certificates',
      );
      expect(code).toBe(0);
    }
    const refused = await cosign('verify', WORKFLOW.replace('release.yml', 'ci.yml'));
    expect(refused.stderr).toContain('no matching CertificateIdentity found');
    expect(refused.code).not.toBe(0);
  });
});

it('a Sigstore without a log is enough where its root names none, and not where it names one', async () => {
  const { fulcio, timestampAuthority } = sigstore.urls;
  const file = join(await newFolder(), 'token');
  await writeFile(file, `${await jobToken(sigstore.issuer)}\n`);
  const { folder } = await signedRelease(await readSigner({ fulcio, timestampAuthority, identityToken: file }, {}));
  expect(await verify(folder, await sigstore.trustedRoot('fulcio', 'tsa'))).toMatchObject({ code: 0, stderr: '' });
  const { code, stdout } = await verify(folder, await sigstore.trustedRoot('fulcio', 'rekor', 'tsa'));
  expect(code).toBe(1);
  for (const faults of faultsOf(stdout)) expect(faults).toContain('it has no entry of a transparency log');
});

it('an entry of a log of version 2 alone is refused: nothing proves when it was signed', async () => {
  const { fulcio, rekor } = sigstore.urls;
  const signer = keylessSigner(() => jobToken(sigstore.issuer), { fulcio, rekor: { url: rekor, version: 2 } });
  const { folder } = await signedRelease(signer);
  const { code, stdout } = await verify(folder, await sigstore.trustedRoot('fulcio', 'rekor', 'tsa'));
  expect(code).toBe(1);
  for (const faults of faultsOf(stdout)) expect(faults).toContain('it has no timestamp');
});

it.each([
  ['of another audience', { aud: 'npm' }],
  ['of another issuer', { iss: 'https://token.actions.githubusercontent.com' }],
])('a token %s is refused by Fulcio, and the error has no token', async (_, change) => {
  const token = await jobToken(sigstore.issuer, change);
  const signer = keylessSigner(async () => token, {
    fulcio: sigstore.urls.fulcio,
    timestampAuthority: sigstore.urls.timestampAuthority,
  });
  const error = await signedRelease(signer).catch((reason: Error) => reason);
  expect(error).toBeInstanceOf(Error);
  const { message, stack } = error as Error;
  expect(message).toContain('error creating signing certificate');
  for (const part of token.split('.')) expect(`${message}${stack}`).not.toContain(part);
});
