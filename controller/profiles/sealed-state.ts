import { createHash, createHmac } from 'node:crypto';
import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import { PROFILE_LIMITS } from '../../contract/profile.ts';
import { decrypt, encrypt } from './aes-gcm.ts';

/** Whose content an object is; it opens for no other profile, version or user. */
export interface Place {
  readonly userId: string;
  readonly profileId: string;
  readonly version: number;
}

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** `light 1`: the form of the content, a Playwright storageState as JSON. */
const contextOf = ({ userId, profileId, version }: Place): string =>
  ['omicron profile', 'light 1', profileId, version, userId].join('\n');

/** Compressed and encrypted under the user's key. */
export const seal = async (key: Buffer, state: Buffer, place: Place): Promise<Buffer> =>
  encrypt(key, await compress(state), contextOf(place));

/** Throws when the object is not this place's, or was changed. */
export const unseal = (key: Buffer, sealed: Buffer, place: Place): Promise<Buffer> =>
  decompress(decrypt(key, sealed, contextOf(place)), { maxOutputLength: PROFILE_LIMITS.stateBytesMax });

/** The name of an object: its content's digest. An IV is never used twice, so no two saves share one. */
export const objectName = (sealed: Buffer): string => createHash('sha256').update(sealed).digest('hex');

/** Tells whether two contents of one user are the same, and nothing to who lacks the key. */
export const digestOf = (key: Buffer, state: Buffer): string => createHmac('sha256', key).update(state).digest('hex');
