import * as z from 'zod';
import { viewerMessage } from './live.ts';

/**
 * The live view by calls instead of a socket: what a viewer says, and what it was sent since its last call. For pages that may open no
 * sockets, which have the tools of MCP alone.
 */
export const liveExchange = z.strictObject({
  /** From the answer to the first call, which names none. */
  viewer: z.uuid().optional(),
  say: z.array(viewerMessage).max(1_000).default([]),
  /** How long the call waits where there is no news yet. Left out: it only sends, and gets nothing. */
  wait_ms: z.int().min(0).max(1_000).optional(),
});

export const liveExchangeAnswer = z.object({
  viewer: z.uuid(),
  /** In order; a `serverMessage` each. */
  messages: z.array(z.string()),
  /** Base64, as `live-picture.ts` writes them. */
  pictures: z.array(z.string()),
  /** The code and the reason with which a socket would have been closed. */
  closed: z.object({ code: z.int(), reason: z.string() }).nullable(),
});
export type LiveExchangeAnswer = z.infer<typeof liveExchangeAnswer>;

export const liveSocketAnswer = z
  .object({
    socket: z
      .object({
        url: z.url().describe('Address of the WebSocket.'),
        protocols: z.array(z.string()).describe('Subprotocols that the page offers; the token is among them.'),
      })
      .nullable()
      .describe('Address at which a page may open a socket of the live view, once within a minute; null: nowhere.'),
  })
  .meta({ id: 'LiveSocketAnswer' });
export type LiveSocketAnswer = z.infer<typeof liveSocketAnswer>;
