/** Pages of a lease that are kept: nothing, the last page, or a picture after each call too (A7, A14, S11). */
export const KEEP_PAGES = ['none', 'last', 'calls'] as const;
export type KeepPages = (typeof KEEP_PAGES)[number];

/** Folder of a lease's kept pages, below its output and its prefix in the artifact store. */
export const PAGE_FOLDER = 'pages';

/** Artifacts of the last page that a lease showed. */
export const LAST_PAGE = {
  picture: `${PAGE_FOLDER}/last.jpg`,
  html: `${PAGE_FOLDER}/last.html`,
  about: `${PAGE_FOLDER}/last.json`,
} as const;

/** Pictures after calls in one lease. */
export const CALL_PICTURES_MAX = 1_000;

/** The artifact with what the page showed after a call; calls of a lease are numbered from 1. */
export const callPicture = (number: number): string => `${PAGE_FOLDER}/call-${String(number).padStart(4, '0')}.jpg`;
