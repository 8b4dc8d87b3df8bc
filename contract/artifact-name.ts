import * as z from 'zod';
import { fileArtifactName } from './files.ts';
import { pageArtifactName } from './kept-pages.ts';
import { PAGE_PREFIX, VIDEO_PREFIX } from './names.ts';

/** A video of a tab, a file of the session, or what is kept of a page. */
export const ARTIFACT_KINDS = ['video', 'file', 'page'] as const;
export type ArtifactKind = (typeof ARTIFACT_KINDS)[number];

/** Unique within a lease. Names of videos have no folder. */
export const artifactName = z.union([z.string().regex(/^[A-Za-z0-9._-]{1,128}$/), fileArtifactName, pageArtifactName]);

export function kindOfArtifact(name: string): ArtifactKind {
  if (pageArtifactName.safeParse(name).success) return 'page';
  return fileArtifactName.safeParse(name).success ? 'file' : 'video';
}

/** Key of an artifact in the store, by the prefix of its lease's videos. Pages are kept for another time, so that theirs differs. */
export const artifactKey = (videoPrefix: string, name: string): string =>
  kindOfArtifact(name) === 'page'
    ? `${PAGE_PREFIX}${videoPrefix.slice(VIDEO_PREFIX.length)}${name}`
    : `${videoPrefix}${name}`;
