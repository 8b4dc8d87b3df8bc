import { OmicronError } from '../../contract/problem.ts';
import type { FileLimits } from './limits.ts';

const MIB = 1024 * 1024;

/** One file's share of what may be brought in. */
export interface Share {
  /** The content, as long as it stays within the limits. Throws `payload_too_large` and `files_quota_exceeded`. */
  bounded(content: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
  /** The file was not stored. */
  giveBack(): void;
}

/** Counts what is brought into a lease. Each call begins a file, new or repeated; throws `files_quota_exceeded` where there may be no more. */
export function uploadQuota(limits: FileLimits): (isNew: boolean) => Share {
  const used = { files: 0, bytes: 0 };
  return isNew => {
    const files = isNew ? 1 : 0;
    if (used.files + files > limits.filesMax) throw quotaExceeded(`${limits.filesMax} files`);
    used.files += files;
    let bytes = 0;
    return {
      async *bounded(content) {
        for await (const chunk of content) {
          bytes += chunk.length;
          used.bytes += chunk.length;
          if (bytes > limits.fileBytes)
            throw new OmicronError('payload_too_large', `A file may have at most ${limits.fileBytes / MIB} MiB.`);
          if (used.bytes > limits.filesBytes) throw quotaExceeded(`${limits.filesBytes / MIB} MiB of files`);
          yield chunk;
        }
      },
      giveBack() {
        used.files -= files;
        used.bytes -= bytes;
      },
    };
  };
}

const quotaExceeded = (most: string): OmicronError =>
  new OmicronError('files_quota_exceeded', `A lease takes ${most} at most.`);
