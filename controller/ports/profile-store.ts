/**
 * The store of the encrypted objects of profiles. A name is used for one content only, so that nothing is ever written
 * over. Throws `profile_unavailable` when it cannot be reached: then nothing is known, try again.
 */
export interface ProfileStore {
  /** Resolves when the bytes are safe; repeating it changes nothing. */
  put(name: string, bytes: Buffer): Promise<void>;
  /** Null: there is no such object. */
  get(name: string): Promise<Buffer | null>;
  /** Does nothing when it is gone. */
  remove(name: string): Promise<void>;
}
