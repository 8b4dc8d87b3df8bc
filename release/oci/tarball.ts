import { gzipSync } from 'node:zlib';
import { Header } from 'tar';

const BLOCK = 512;
/** The time of every file, so that the same files are the same bytes; npm sets this one in packages. */
const TIME = new Date('1985-10-26T08:15:00Z');

/** A compressed tarball of some files: the same bytes each time. */
export function tarball(files: ReadonlyMap<string, string>): Buffer {
  const blocks = [...files]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([path, text]) => {
      const body = Buffer.from(text);
      const header = new Header({ path, size: body.length, mode: 0o644, mtime: TIME, type: 'File', uid: 0, gid: 0 });
      if (header.encode()) throw new Error(`${path} is too long a name for a tarball`);
      return [header.block ?? Buffer.alloc(BLOCK), body, Buffer.alloc((BLOCK - (body.length % BLOCK)) % BLOCK)];
    });
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]), { level: 9 });
}
