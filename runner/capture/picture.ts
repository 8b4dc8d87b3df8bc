/** A picture of a tab. */
export interface Picture {
  /** `screenshot`: taken by itself, while a document is guarded. */
  readonly kind: 'screencast' | 'screenshot';
  readonly jpeg: Buffer;
  /** When the tab looked like this, in ms since 1970. */
  readonly atMs: number;
  /** Size of the tab in CSS pixels, whatever that of the picture is. */
  readonly cssWidth: number;
  readonly cssHeight: number;
}

/** Called with each picture that may be seen. */
export type Watcher = (picture: Picture) => void;

/**
 * `live`: for a person, who sees each change soon. `sparing`: for a recording, fewer pictures at half the processor time
 * (docs/adr/0054-measured-decisions.md#a-recording-takes-one-picture-at-a-time-0069).
 */
export type Pace = 'live' | 'sparing';

/** JPEG quality of what is captured. */
export const PICTURE_QUALITY = 75;

/**
 * Bounds in pixels of what is captured. At 15 a second in 1920x1080 ten actions of an agent take twice as long on a page that is animated
 * (docs/adr/0033-one-capture-per-tab.md); a recording takes one picture at a time, and can have them as large as its file.
 */
export const PICTURE_SIZE: Readonly<Record<Pace, { readonly width: number; readonly height: number }>> = {
  live: { width: 1280, height: 720 },
  sparing: { width: 1920, height: 1080 },
};
