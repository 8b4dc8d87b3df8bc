import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fileSecrets } from '../../../controller/secrets/file.ts';
import { secretStoreContract } from './secret-store.contract.ts';

const SECRET = 'hunter2-must-stay-inside';

const tempFile = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'omicron-vault-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return { folder, path: join(folder, 'secrets.jwe') };
};

secretStoreContract('in a file', async () => {
  const { path } = await tempFile();
  const store = fileSecrets({ path, key: randomBytes(32) });
  return { store, another: store, [Symbol.asyncDispose]: async () => {} }; // one controller owns the file
});

describe('the file', () => {
  const credential = { username: 'u', password: SECRET };

  it('never holds a secret in the clear, is its owner’s alone, and leaves no other file', async () => {
    const { folder, path } = await tempFile();
    const store = fileSecrets({ path, key: randomBytes(32) });
    for (const site of ['a', 'b', 'c']) await store.put('ada', site, credential);
    expect(await readdir(folder)).toEqual(['secrets.jwe']);
    const content = await readFile(path, 'utf8');
    expect(content).not.toContain(SECRET);
    expect(content).not.toContain('ada');
    for (const part of content.split('.'))
      expect(Buffer.from(part, 'base64url').toString('latin1')).not.toContain(SECRET);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it('opens again after a restart, and with no other key', async () => {
    const { path } = await tempFile();
    const key = randomBytes(32);
    await fileSecrets({ path, key }).put('ada', 'shop', credential);
    expect(await fileSecrets({ path, key }).read('ada')).toMatchObject({ credentials: { shop: credential } });
    const sealed = await readFile(path);
    for (const wrong of [randomBytes(32), randomBytes(16)]) {
      const store = fileSecrets({ path, key: wrong });
      await expect(store.read('ada')).rejects.toMatchObject({
        code: 'secrets_unavailable',
        message: expect.stringContaining('key'),
      });
      await expect(store.put('ada', 'shop', credential)).rejects.toMatchObject({ code: 'secrets_unavailable' });
    }
    expect(await readFile(path)).toEqual(sealed); // what cannot be read is not overwritten
  });

  it.each<[string, (sealed: string) => string]>([
    ['cut short', sealed => sealed.slice(0, -20)],
    ['empty', () => ''],
    [
      'changed in one letter',
      sealed => sealed.replace(/.(.{30})$/, (whole, end) => (whole[0] === 'A' ? 'B' : 'A') + end),
    ],
    ['something else', () => JSON.stringify({ ada: SECRET })],
  ])('that is %s is refused, not overwritten, and not repeated', async (_what, spoil) => {
    const { path } = await tempFile();
    const store = fileSecrets({ path, key: randomBytes(32) });
    await store.put('ada', 'shop', credential);
    const torn = spoil(await readFile(path, 'utf8'));
    await writeFile(path, torn);
    const error = await store.read('ada').catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: 'secrets_unavailable' });
    expect(inspect(error, { depth: 9 })).not.toContain(SECRET);
    await expect(store.put('ada', 'x', credential)).rejects.toMatchObject({ code: 'secrets_unavailable' });
    expect(await readFile(path, 'utf8')).toBe(torn);
  });

  it('is whole at every moment while it is written', async () => {
    const { path } = await tempFile();
    const key = randomBytes(32);
    const [writer, reader] = [fileSecrets({ path, key }), fileSecrets({ path, key })];
    await writer.put('ada', 's0', credential);
    let writing = true;
    const reads = (async () => {
      let count = 0;
      for (; writing; count++) expect((await reader.read('ada'))?.credentials.s0).toEqual(credential);
      return count;
    })();
    for (let n = 0; n < 40; n++) await writer.put('ada', `s${n}`, credential);
    writing = false;
    expect(await reads).toBeGreaterThan(3);
  });
});
