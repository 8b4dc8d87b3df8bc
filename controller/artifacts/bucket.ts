import type { ArtifactStore } from '../ports/artifacts.ts';

/** Artifacts in a bucket: its lifecycle deletes them (infra/bucket.ts), and the controller's role may neither delete nor read them. */
export const bucketArtifacts: ArtifactStore = { remove: async () => undefined, read: async () => null };
