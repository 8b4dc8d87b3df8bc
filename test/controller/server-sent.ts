import { signServiceToken } from '../../contract/tokens.ts';

export interface ServerSent {
  readonly event: string | undefined;
  readonly id: string | undefined;
  readonly data: Record<string, unknown>;
}

export interface Listened {
  readonly replica: { readonly url: string; readonly serviceKey: Uint8Array };
  readonly path: string;
  readonly headers?: Record<string, string>;
  /** Limits the token. */
  readonly user?: string | undefined;
  readonly onEvent: (event: ServerSent) => void;
}

/** Reads server-sent events as they come, each when it has been received whole. */
export async function listenTo({ replica, path, headers, user, onEvent }: Listened) {
  const stop = new AbortController();
  const response = await fetch(`${replica.url}${path}`, {
    headers: { ...headers, authorization: `Bearer ${await signServiceToken(replica.serviceKey, user)}` },
    signal: stop.signal,
  });
  let text = '';
  const reading = (async () => {
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1];
        const data = field('data');
        if (data !== undefined) onEvent({ event: field('event'), id: field('id'), data: JSON.parse(data) });
      }
    }
  })().catch(() => undefined); // it was stopped
  return { response, reading, stop: () => stop.abort() };
}
