/** Where recordings are kept. The uploader writes; the controller only removes what is past its retention. */
export interface ArtifactStore {
  /** Removes one recording; does nothing when it is gone. */
  remove(uri: string): Promise<void>;
}
