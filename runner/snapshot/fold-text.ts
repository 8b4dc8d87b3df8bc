/** Characters that no reader sees: soft hyphens, joiners and other zero-width ones. */
const UNSEEN = /[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]/g;

/**
 * A text as it is compared with what is looked for: composed and decomposed letters, ligatures, wide letters and every kind of space are
 * alike, and soft hyphens are out.
 */
export const foldText = (text: string): string => text.normalize('NFKC').replace(UNSEEN, '').replace(/\s+/g, ' ');
