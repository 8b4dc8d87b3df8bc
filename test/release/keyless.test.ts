import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { beforeAll, describe, expect, it } from 'vitest';
import { keylessSigner } from '../../release/oci/keyless.ts';
import { readSigner, type SignerOptions } from '../../release/oci/signer-options.ts';
import { fakeIssuer } from '../fakes/issuer.ts';
import { newFolder, ROOT, run } from '../local/machine.ts';

// The release here was signed by Sigstore's own programs: test/sigstore/write-signed-release.ts writes it, test/sigstore shows more on them.

const HERE = join(import.meta.dirname, 'keyless');
const RELEASE = join(HERE, 'release');
const TRUSTED_ROOT = join(HERE, 'trusted_root.json');
let signer: { identity: string; issuer: string };
let root: Record<string, unknown>;
beforeAll(async () => {
  signer = JSON.parse(await readFile(join(HERE, 'signer.json'), 'utf8'));
  root = JSON.parse(await readFile(TRUSTED_ROOT, 'utf8'));
});

type Options = Readonly<Record<string, string | undefined>>;

const verify = (options: Options, env: Record<string, string> = {}) =>
  run(
    process.execPath,
    [
      ...[join(ROOT, 'cli', 'bin.js'), 'verify', '1.2.3', '--from', RELEASE, '--only', 'manifests'],
      ...Object.entries(options).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value])),
    ],
    { env },
  );
const named = (): Options => ({ ...signer, 'trusted-root': TRUSTED_ROOT });
/** A trusted root with some of its parts changed. */
async function rootWith(change: Record<string, unknown>): Promise<string> {
  const file = join(await newFolder(), 'root.json');
  await writeFile(file, JSON.stringify({ ...root, ...change }));
  return file;
}

describe('a release that was signed by an identity', () => {
  it('is verified by name or pattern, by the root of its Sigstore, without any network', async () => {
    const { code, stdout, stderr } = await verify(named());
    expect([code, stderr, stdout]).toEqual([0, '', expect.stringMatching(/"commit": "c0ffee0+",\s+"faults": \[\]/)]);
    const pattern = { identity: undefined, 'identity-regexp': 'https://github.com/example/.*@refs/tags/v[0-9.]+' };
    expect(await verify({ ...named(), ...pattern })).toMatchObject({ code: 0, stderr: '' });
  });

  it.each([
    [
      'another identity',
      () => ({ identity: 'https://github.com/stranger/fork/.github/workflows/release.yml@refs/tags/v1.2.3' }),
      'it is signed by https://github.com/example/',
    ],
    [
      'a pattern of a part of the name',
      () => ({ identity: undefined, 'identity-regexp': 'https://github.com/example/' }),
      'it is signed by https://github.com/example/',
    ],
    ['another issuer', () => ({ issuer: 'https://gitlab.com' }), `of the issuer http://127.0.0.1:`],
    [
      'the root of another authority',
      () => ({ 'trusted-root': join(HERE, 'other_root.json') }),
      'its certificate is of no authority of the trusted root',
    ],
    [
      'a root whose log it is not in',
      async () => ({ 'trusted-root': await rootWith({ tlogs: [] }) }),
      'its entry is in no transparency log',
    ],
    [
      'a root whose timestamps it has none of',
      async () => ({ 'trusted-root': await rootWith({ timestampAuthorities: [] }) }),
      'its timestamp is of no authority',
    ],
  ])('is refused with %s, with the reason', async (_, change, reason) => {
    const { code, stderr } = await verify({ ...named(), ...(await change()) });
    expect(code).toBe(1);
    expect(stderr).toContain('manifests: no valid signature: ');
    expect(stderr).toContain(reason);
  });

  it("is refused with the reason where Sigstore's own root cannot be fetched, which a copy replaces", async () => {
    // a proxy that is not there: nothing leaves this machine
    const nowhere = { HTTPS_PROXY: 'http://127.0.0.1:1', https_proxy: 'http://127.0.0.1:1', HOME: await newFolder() };
    const { code, stderr } = await verify({ ...signer }, nowhere);
    expect(code).toBe(1);
    expect(stderr).toContain('the trusted root of Sigstore cannot be fetched');
    expect(stderr).toContain('--trusted-root');
  });
});

it.each([
  ['no publisher', () => ({}), 'name the publisher by one of --key, --identity and --identity-regexp'],
  ['a key and an identity', () => ({ ...named(), key: TRUSTED_ROOT }), '--key is of a publisher without identity'],
  ['two identities', () => ({ ...named(), 'identity-regexp': '.*' }), 'one of --key, --identity and --identity-regexp'],
  ['no issuer', () => ({ ...named(), issuer: undefined }), 'name the issuer of the identity by --issuer'],
  ['an issuer that is no URL', () => ({ ...named(), issuer: 'github' }), '--issuer github is no URL'],
  [
    'a pattern that is none',
    () => ({ ...named(), identity: undefined, 'identity-regexp': 'a)|(b' }),
    '--identity-regexp a)|(b: ',
  ],
  [
    'a root that is not there',
    () => ({ ...named(), 'trusted-root': '/none.json' }),
    '--trusted-root /none.json cannot be read',
  ],
  [
    'a root that is no JSON',
    () => ({ ...named(), 'trusted-root': join(ROOT, 'README.md') }),
    'README.md is no trusted root in JSON',
  ],
  [
    'other JSON',
    () => ({ ...named(), 'trusted-root': join(ROOT, 'package.json') }),
    'package.json is no trusted root: its mediaType is ""',
  ],
  [
    'a root without authority',
    async () => ({ ...named(), 'trusted-root': await rootWith({ certificateAuthorities: [] }) }),
    'names no certificateAuthorities',
  ],
  [
    'a root without time',
    async () => ({ ...named(), 'trusted-root': await rootWith({ tlogs: [], timestampAuthorities: [] }) }),
    'neither tlogs nor timestampAuthorities',
  ],
])('verify refuses %s before it reads a release', async (_, options, reason) => {
  const { code, stdout, stderr } = await verify(await options());
  expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(reason)]);
});

const FULCIO = 'http://127.0.0.1:1';
const STATEMENT = { type: 'application/vnd.in-toto+json', data: Buffer.from('{}') };

it.each<[string, SignerOptions, string]>([
  ['neither key nor identity', {}, 'no signer is named: name a key by --key'],
  ['both', { key: 'a', identityToken: 'b' }, '--key signs without an identity: leave out --identity-token'],
  ['a key and an authority', { key: 'a', timestampAuthority: FULCIO }, 'leave out --timestamp-authority'],
  ['a key that is not there', { key: '/none.pem' }, '--key /none.pem cannot be read'],
  ['a token that is not there', { identityToken: '/none' }, '--identity-token /none cannot be read'],
  ['an authority that is no URL', { fulcio: 'fulcio', timestampAuthority: FULCIO }, '--fulcio fulcio is no URL'],
  ["a log of one's own beside the public Fulcio", { rekor: FULCIO }, 'name the authority of certificates too'],
  ["a Fulcio of one's own and nothing that proves time", { fulcio: FULCIO }, 'name a --timestamp-authority'],
  [
    'a log of version 2 as the only proof of time',
    { fulcio: FULCIO, rekor: FULCIO, rekorVersion: '2' },
    'name a --timestamp-authority',
  ],
])('sign refuses %s', async (_, options, reason) => {
  await expect(readSigner(options, {})).rejects.toThrow(reason);
});

it('the command says so, before it looks at the tree', async () => {
  const { code, stderr } = await run(process.execPath, ['release/main.ts', 'sign', await newFolder()], { cwd: ROOT });
  expect([code, stderr]).toEqual([1, expect.stringContaining('no signer is named: name a key by --key')]);
});

describe('a token of an identity', () => {
  it.each([
    ['no JWT', async () => 'secret-token', 'is no JWT'],
    ['expired', async () => await tokenWith({ exp: 1 }), 'expired at 1970-01-01T00:00:01.000Z'],
    ['of nobody', async () => await tokenWith({ sub: undefined }), 'names no subject'],
    ['of an email that nobody verified', async () => await tokenWith({ email: 'a@example.com' }), 'no verified email'],
  ])('is refused where it is %s, and stays out of the error', async (_, make, reason) => {
    const token = await make();
    const sign = keylessSigner(async () => token, { fulcio: FULCIO, timestampAuthority: FULCIO });
    const { message, stack } = await sign(STATEMENT).then(
      () => new Error('signed'),
      (error: Error) => error,
    );
    expect(message).toContain(reason);
    expect(`${message}${stack}`).not.toContain(token);
  });

  it('stays out of the error where Fulcio repeats it, or is not there', async () => {
    const token = await tokenWith({});
    const server = createServer(async (request, response) => {
      const { credentials } = JSON.parse(String(await buffer(request)));
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ message: `bad token: ${credentials.oidcIdentityToken}` }));
    });
    await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
    const fulcio = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const errorOf = (url: string) =>
      keylessSigner(async () => token, { fulcio: url, timestampAuthority: url })(STATEMENT).then(
        () => new Error('signed'),
        (error: Error) => error,
      );
    const refused = await errorOf(fulcio);
    server.close();
    expect(refused.message).toBe(
      'keyless signing failed: error creating signing certificate - (400) bad token: <token>',
    );
    const away = await errorOf('http://127.0.0.1:1');
    expect(away.message).toContain('ECONNREFUSED');
    for (const { message, stack, cause } of [refused, away]) {
      expect(`${message}${stack}`).not.toContain(token);
      expect(cause).toBeUndefined();
    }
  });
});

async function tokenWith(change: Record<string, unknown>): Promise<string> {
  await using issuer = await fakeIssuer('sigstore');
  return await issuer.token('somebody', change);
}
