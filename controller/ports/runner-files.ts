import type { Readable } from 'node:stream';
import type { SessionFile } from '../../contract/files.ts';

/** A content on its way, as HTTP has it. */
export interface FileAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly stream: Readable;
}

/**
 * The files of a lease, at its runner; `token` is an order of the controller's. Throws what the runner answers instead, or
 * `lease_ended` when it does not answer.
 */
export interface RunnerFiles {
  list(endpoint: string, token: string): Promise<SessionFile[]>;
  /** `content` is sent as it comes; `bytes` where that is known. The same content under the same name is stored once. */
  put(
    endpoint: string,
    token: string,
    file: { name: string; content: Readable; bytes: number | undefined },
  ): Promise<SessionFile>;
  /** The whole, or the part that the header `range` asks for. */
  read(endpoint: string, token: string, name: string, range: string | undefined): Promise<FileAnswer>;
}
