import { createHash, createHmac } from 'node:crypto';
import { promisify } from 'node:util';
import { zstdCompress, zstdCompressSync, zstdDecompress, zstdDecompressSync } from 'node:zlib';
import { PROFILE_LIMITS, type ProfileForm } from '../../contract/profile.ts';
import { decrypt, encrypt } from './aes-gcm.ts';

/** The owner of an object's content; it opens for no other profile or user, and a version's for no other version or form. */
export interface SealedPlace {
  readonly userId: string;
  readonly profileId: string;
  /** Number and form of a version; a chunk is shared by the versions of a profile; a snapshot has a profile of its own. */
  readonly of: { readonly version: number; readonly form: ProfileForm } | 'chunk' | 'snapshot';
}

/**
 * Most chunks are of some 100 kB, and a profile may have thousands: these take zstd 0.1 ms each, and the way through Node's stream and
 * thread pool six times that, most of it in the thread that was to be spared.
 */
const IN_THIS_THREAD_BYTES = 256 * 1024;
/** Node's default of 32 KiB is a turn through the thread pool for each piece: 4 MiB took three to five times as long. */
const PIECE_BYTES = { min: 32 * 1024, max: 1024 * 1024 };
const pieceSize = (bytes: number) => ({ chunkSize: Math.min(PIECE_BYTES.max, Math.max(PIECE_BYTES.min, bytes)) });

const compressInPool = promisify(zstdCompress);
const decompressInPool = promisify(zstdDecompress);
const compress = (plain: Buffer) =>
  (plain.length > IN_THIS_THREAD_BYTES ? compressInPool : zstdCompressSync)(plain, pieceSize(plain.length));
const decompress = (packed: Buffer, maxOutputLength: number) =>
  (packed.length > IN_THIS_THREAD_BYTES ? decompressInPool : zstdDecompressSync)(packed, {
    maxOutputLength,
    ...pieceSize(2 * packed.length),
  });

/** `1`: the first way to write a content of this form. */
const contextOf = ({ userId, profileId, of }: SealedPlace): string =>
  [
    'omicron profile',
    ...(typeof of === 'string' ? [`${of} 1`, profileId] : [`${of.form} 1`, profileId, of.version]),
    userId,
  ].join('\n');

/** Compressed and encrypted under the user's key. */
export const seal = async (key: Buffer, plain: Buffer, place: SealedPlace): Promise<Buffer> =>
  encrypt(key, await compress(plain), contextOf(place));

/** Throws when the object is not this place's, or was changed. */
export const unseal = async (key: Buffer, sealed: Buffer, place: SealedPlace): Promise<Buffer> => {
  const maxOutputLength = place.of === 'chunk' ? PROFILE_LIMITS.chunkBytesMax : PROFILE_LIMITS.stateBytesMax;
  return decompress(decrypt(key, sealed, contextOf(place)), maxOutputLength);
};

/** The name of an object: its content's digest. An IV is never used twice, so no two saves share one. */
export const objectName = (sealed: Buffer): string => createHash('sha256').update(sealed).digest('hex');

/** Says whether two contents of one user are the same, and nothing to who lacks the key. */
export const digestContent = (key: Buffer, plain: Buffer): string =>
  createHmac('sha256', key).update(plain).digest('hex');
