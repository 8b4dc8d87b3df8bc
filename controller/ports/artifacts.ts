/** Where recordings are kept. The uploader writes; the controller only sees to it that what is past its retention goes. */
export interface ArtifactStore {
  /** Removes one recording; does nothing when it is gone, or when the store removes it by itself. */
  remove(uri: string): Promise<void>;
}
