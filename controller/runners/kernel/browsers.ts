import * as z from 'zod';
import { OmicronError } from '../../../contract/problem.ts';
import type { RemoteBrowsers } from '../../ports/remote-browsers.ts';

const NAME = 'kernel';
const CREATE_MS = 30_000;
const REMOVE_MS = 10_000;
const MESSAGE_MAX = 300;

/**
 * The request for a browser. It is not watched there, and not disguised (O20). It ends when no runner has been connected to it for
 * a minute: so one is not left behind where its runner, or the record of it, is lost.
 */
const BROWSER = {
  headless: true,
  stealth: false,
  timeout_seconds: 60,
  viewport: { width: 1920, height: 1080 },
} as const;

const created = z.object({ session_id: z.string().min(1), cdp_ws_url: z.url({ protocol: /^wss?$/ }) });
const failure = z.object({ code: z.string(), message: z.string() });

export interface KernelOptions {
  /** Address of the API, e.g. `https://api.onkernel.com`. */
  readonly url: string;
  readonly apiKey: string;
}

/**
 * Browsers of Kernel, or of a service with its API: `POST /browsers` and `DELETE /browsers/{id}`, with a bearer key.
 * <https://www.kernel.sh/docs/api-reference/browsers/create-a-browser-session>
 */
export function kernelBrowsers({ url, apiKey }: KernelOptions): RemoteBrowsers {
  const base = url.replace(/\/+$/, '');

  async function call(method: 'POST' | 'DELETE', path: string, timeoutMs: number, body?: object): Promise<Response> {
    const headers = {
      authorization: `Bearer ${apiKey}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    };
    return fetch(`${base}${path}`, {
      method,
      headers,
      redirect: 'error', // the key goes to this host alone
      signal: AbortSignal.timeout(timeoutMs),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }).catch(cause => {
      throw startFailed(`its API did not answer at ${new URL(base).origin}`, cause);
    });
  }

  return {
    name: NAME,
    async create() {
      const response = await call('POST', '/browsers', CREATE_MS, BROWSER);
      const answer: unknown = await response.json().catch(() => undefined);
      if (!response.ok) throw startFailed(`its API refused a browser: ${reasonOf(response.status, answer)}`);
      const { data } = created.safeParse(answer);
      if (data === undefined) throw startFailed('its API answered without session_id and cdp_ws_url');
      return { id: data.session_id, cdpUrl: data.cdp_ws_url };
    },
    async remove(id) {
      const response = await call('DELETE', `/browsers/${encodeURIComponent(id)}`, REMOVE_MS);
      if (response.ok || response.status === 404) return;
      const answer: unknown = await response.json().catch(() => undefined);
      throw startFailed(`its API did not end the browser ${id}: ${reasonOf(response.status, answer)}`);
    },
  };
}

const startFailed = (why: string, cause?: unknown): OmicronError =>
  new OmicronError('runner_start_failed', `The provider ${NAME} failed: ${why}.`, { cause });

/** The service's own words, where they have its form of an error. */
function reasonOf(status: number, answer: unknown): string {
  const { data } = failure.safeParse(answer);
  return data === undefined ? `status ${status}` : `${status} ${data.code}, ${data.message.slice(0, MESSAGE_MAX)}`;
}
