import type { ArtifactStore } from '../ports/artifacts.ts';

/** Artifacts in a bucket that this controller has no settings for: nothing is known of them. */
export const uncheckedArtifacts: ArtifactStore = {
  remove: async () => false,
  async erase() {
    throw new Error('no bucket can be reached: set AWS_REGION');
  },
  read: async () => null,
  sign: async () => null,
  survey: async () => null,
};
