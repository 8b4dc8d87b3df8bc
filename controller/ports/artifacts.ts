import type { Readable } from 'node:stream';

/** Where artifacts are kept. Uploaders write them; the controller reads them, and removes those past their retention. */
export interface ArtifactStore {
  /** Removes one artifact; does nothing when it is gone, or when the store removes it by itself. */
  remove(uri: string): Promise<void>;
  /** Null: it is gone, or the controller may not read this store. */
  read(uri: string): Promise<ArtifactContent | null>;
}

export interface ArtifactContent {
  readonly bytes: number;
  /** The bytes from `start` to `end`, both inclusive. */
  stream(start: number, end: number): Readable;
}
