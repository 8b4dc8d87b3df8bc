import * as z from 'zod';
import { liveRole, type ServerMessage, viewerMessage } from './live.ts';

/**
 * A live view by HTTP requests, for networks that let no WebSocket through (A11). The console's server is the viewer, and a page asks
 * it again and again: `POST /api/browser-sessions/{id}/polled-views` opens one, `GET /api/polled-views/{view}` waits for what is new,
 * `GET .../picture` has the last picture, `POST .../messages` sends what a viewer says, `DELETE` closes it.
 */
export const polledViewRequest = z.strictObject({ role: liveRole });

export interface PolledViewOpened {
  readonly view: string;
}

/** `after`: the number of the last message that is known; `picture`: that of the last picture, -1 for none. */
export const polledViewQuery = z.strictObject({
  after: z.coerce.number().int().min(0),
  picture: z.coerce.number().int().min(-1),
});

export interface PolledViewNews {
  readonly messages: readonly ServerMessage[];
  /** The next `after`. */
  readonly next: number;
  /** Number of the last picture, -1 for none yet: the ETag of `.../picture`. */
  readonly picture: number;
  /** How it was closed, as a WebSocket is; null while it is open. */
  readonly closed: { readonly code: number; readonly reason: string } | null;
}

/** Messages of a viewer, in order, and the picture that they refer to: a place is refused where the tab is another by now. */
export const polledViewMessages = z.strictObject({
  picture: z.int().min(-1),
  messages: z.array(viewerMessage).min(1).max(200),
});
export type PolledViewMessages = z.input<typeof polledViewMessages>;
