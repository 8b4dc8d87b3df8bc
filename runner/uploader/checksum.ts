import { crc32 } from 'node:zlib';

/** The checksum of a body as S3 writes it. */
export const checksum = (body: Buffer): string => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(body));
  return bytes.toString('base64');
};
