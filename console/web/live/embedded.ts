import { PREVIEW_MESSAGES } from '../../../contract/preview.ts';

/**
 * Asks the page around this one for a live token; it may take as long as that page needs. Rejects where that page has none now, and with
 * the signal's reason.
 */
export async function tokenFromEmbedder(signal: AbortSignal): Promise<string> {
  if (parent === window) throw new Error('no page is around this one');
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const read = ({ source, data }: MessageEvent) => {
    if (source !== parent || data?.type !== PREVIEW_MESSAGES.token) return;
    removeEventListener('message', read);
    if (typeof data.token === 'string') resolve(data.token);
    else reject(new Error('no token'));
  };
  addEventListener('message', read, { signal });
  signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  // To any origin: it says nothing, and `frame-ancestors` names who may be around this page.
  parent.postMessage({ type: PREVIEW_MESSAGES.tokenWanted }, '*');
  return promise;
}
