import { readFile, rename, writeFile } from 'node:fs/promises';
import { CompactEncrypt, compactDecrypt } from 'jose';
import * as z from 'zod';
import { OmicronError } from '../../contract/problem.ts';
import { vaultSecretName } from '../../contract/secrets.ts';
import type { SecretStore } from '../ports/secrets.ts';
import { readDocument } from './vault-document.ts';

/** Entries as they were stored: one that this release cannot use is kept. */
const vault = z.record(z.string(), z.looseObject({ credentials: z.record(z.string(), z.unknown()) }));

/** The local stack's vault: one file, a JWE under a key of 32 bytes (A256GCM). Writes are atomic and in turn. */
export function fileSecrets(options: { path: string; key: Uint8Array }): SecretStore {
  const { path, key } = options;
  let turn: Promise<unknown> = Promise.resolve();

  const read = async (): Promise<z.infer<typeof vault>> => {
    let sealed: string;
    try {
      sealed = await readFile(path, 'utf8');
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return {};
      throw new OmicronError('secrets_unavailable', `The vault file cannot be read: ${path}.`, { cause });
    }
    try {
      const { plaintext } = await compactDecrypt(sealed, key);
      return vault.parse(JSON.parse(new TextDecoder().decode(plaintext)));
    } catch {
      // the cause may hold what was decrypted
      throw new OmicronError(
        'secrets_unavailable',
        `The vault file cannot be decrypted with this key: ${path}. Restore its key, or delete the file and store the credentials again.`,
      );
    }
  };

  const write = async (all: z.infer<typeof vault>): Promise<void> => {
    const sealed = await new CompactEncrypt(new TextEncoder().encode(JSON.stringify(all)))
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
      .encrypt(key);
    await writeFile(`${path}.new`, sealed, { mode: 0o600 });
    await rename(`${path}.new`, path);
  };

  const change = <T>(edit: (all: z.infer<typeof vault>) => T): Promise<T> => {
    const next = turn.then(async () => {
      const all = await read();
      const result = edit(all);
      await write(all);
      return result;
    });
    turn = next.catch(() => {});
    return next;
  };

  return {
    async read(userId) {
      const stored = (await read())[vaultSecretName(userId)];
      return stored === undefined ? null : readDocument(stored);
    },
    put: (userId, site, credential) =>
      change(all => {
        const name = vaultSecretName(userId);
        all[name] = { credentials: { ...all[name]?.credentials, [site]: credential } };
      }),
    remove: (userId, site) =>
      change(all => {
        const credentials = all[vaultSecretName(userId)]?.credentials;
        if (!credentials || !Object.hasOwn(credentials, site)) return false;
        delete credentials[site];
        return true;
      }),
  };
}
