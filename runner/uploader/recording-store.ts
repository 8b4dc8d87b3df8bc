import type { FileState } from './state.ts';

/** A recording on its way into a store. */
export interface RecordingUpload {
  readonly path: string;
  readonly key: string;
  /** Its state, kept across restarts by `save`. */
  readonly state: FileState;
  readonly save: () => Promise<void>;
  readonly signal: AbortSignal;
}

/**
 * The store of recordings. Every call makes one attempt and rejects when another may succeed. With the state of the
 * attempt before, a repeated call is harmless.
 */
export interface RecordingStore {
  uri(key: string): string;
  /**
   * Sends what will not change of a file that still grows and has this many bytes now. A store may take whole files
   * only.
   */
  advance(file: RecordingUpload, bytes: number): Promise<void>;
  /**
   * Stores the whole file, which nothing writes to any more; resolves with the bytes of the object. `taken`: another
   * uploader's object has the key, and stays as it is.
   */
  finish(file: RecordingUpload, bytes: number): Promise<number | 'taken'>;
  /** Discards what the store has of an unfinished file. An object that is there stays. */
  giveUp(file: RecordingUpload): Promise<void>;
}
