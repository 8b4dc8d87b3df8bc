import type { Readable } from 'node:stream';

/** The store of artifacts. Uploaders write them; the controller reads them, and removes those past their retention. */
export interface ArtifactStore {
  /**
   * Removes one artifact, unless the store removes it by itself. Resolves with whether it is gone: false is to be asked again later.
   * Throws where that cannot be determined.
   */
  remove(uri: string): Promise<boolean>;
  /** Removes one artifact now, also where the store removes old ones by itself; repeating it changes nothing. */
  erase(uri: string): Promise<void>;
  /** Null: it is gone, or the controller may not read it. */
  read(uri: string): Promise<ArtifactContent | null>;
  /** A URL that reads what `read` finds, and nothing else, without a token until it expires. Null: this store has none. */
  sign(uri: string, as: SignedAs): Promise<string | null>;
  /** O21: what the store holds now. Null: there is nothing to check. Throws where it cannot be checked. */
  survey(): Promise<StoreSurvey | null>;
}

export interface ArtifactContent {
  readonly bytes: number;
  /** The bytes from `start` to `end`, both inclusive. */
  stream(start: number, end: number): Readable;
}

/** Headers of the answer to a signed URL, and its seconds. */
export interface SignedAs {
  readonly name: string;
  readonly mimeType: string;
  readonly seconds: number;
}

/** A store that removes artifacts by itself, looked at from outside. */
export interface StoreSurvey {
  readonly prefixes: readonly PrefixSurvey[];
}

export interface PrefixSurvey {
  readonly prefix: string;
  /** Prefixes below it, each with a retention of its own. */
  readonly holds: 'videos' | 'pages';
  readonly objects: number;
  readonly bytes: number;
  /** Milliseconds since 1970; null: there is none. */
  readonly oldestMs: number | null;
  /** Days after which the store removes objects of this prefix; null: no rule does. */
  readonly expiryDays: number | null;
}
