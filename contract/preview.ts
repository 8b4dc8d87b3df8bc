/**
 * Messages between an embedded preview and the page around it, by `postMessage`: a preview that is opened with
 * `?admission=token` asks for a live token for each connection, since browsers send it no cookie inside another site.
 */
export const PREVIEW_MESSAGES = {
  /** From the preview: `{type}`. */
  tokenWanted: 'omicron.preview.token-wanted',
  /** To the preview: `{type, token}`, the answer of `POST .../live-token`; null: there is none now. */
  token: 'omicron.preview.token',
} as const;

export const previewPath = (sessionId: string): string => `/preview/${sessionId}`;
