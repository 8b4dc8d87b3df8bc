/** Milliseconds for which a navigation that was asked for waits until its document begins. */
export const NAVIGATION_MS = 30_000;
