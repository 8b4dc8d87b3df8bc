/** Where artifacts are kept. Uploaders write them; the controller only removes those past their retention. */
export interface ArtifactStore {
  /** Removes one artifact; does nothing when it is gone, or when the store removes it by itself. */
  remove(uri: string): Promise<void>;
}
