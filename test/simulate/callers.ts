import { setTimeout as sleep } from 'node:timers/promises';
import { leaseAnswer } from '../../contract/session.ts';
import { signServiceToken } from '../../contract/tokens.ts';

/** A session that did not keep its runner: another epoch was leased for it. */
export interface Loss {
  readonly sessionId: string;
  readonly epoch: number;
  readonly seenAtMs: number;
}

export interface Callers {
  /** Milliseconds of first claims and of renewals, by what happened meanwhile. */
  readonly latencies: Map<string, number[]>;
  readonly losses: Loss[];
  readonly refusals: Map<string, number>;
  /** Live ones: a session has its current runner. */
  readonly live: Map<number, { sessionId: string; epoch: number }>;
  phase: string;
  /** Starts callers one after another; resolves when each has had a browser. */
  ramp(count: number, aSecond: number): Promise<void>;
  stop(): Promise<void>;
}

const EACH_MS = 20_000;
const TTL_SECONDS = 120;

/** One get-or-create of a platform for its `n`th user. */
export const askForLease = async (
  url: string,
  key: Uint8Array,
  n: number,
  { ttlSeconds, waitSeconds, signal }: { ttlSeconds: number; waitSeconds: number; signal?: AbortSignal },
): Promise<Response> =>
  fetch(`${url}/internal/browser-sessions/get-or-create`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await signServiceToken(key)}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      user_id: `user-${n}`,
      conversation_id: 'c',
      record_video: false,
      ttl_seconds: ttlSeconds,
      wait_seconds: waitSeconds,
    }),
    ...(signal && { signal }),
  });

/** Platforms that lease a browser for each conversation, and again before each message of it. */
export function callers(url: string, key: Uint8Array): Callers {
  const stopped = new AbortController();
  const work: Promise<void>[] = [];
  const state: Omit<Callers, 'ramp' | 'stop'> = {
    latencies: new Map(),
    losses: [],
    refusals: new Map(),
    live: new Map(),
    phase: 'ramp',
  };
  const count = (what: string) => state.refusals.set(what, (state.refusals.get(what) ?? 0) + 1);

  async function lease(n: number): Promise<void> {
    const kind = state.live.has(n) ? 'renewal' : 'claim';
    const { phase } = state;
    const beganMs = performance.now();
    for (;;) {
      const signal = AbortSignal.any([stopped.signal, AbortSignal.timeout(60_000)]);
      const asked = { ttlSeconds: TTL_SECONDS, waitSeconds: 30, signal };
      const response = await askForLease(url, key, n, asked).catch(() => null);
      if (stopped.signal.aborted) return;
      if (response?.status === 200) {
        const { session_id: sessionId, epoch } = leaseAnswer.parse(await response.json());
        const before = state.live.get(n);
        if (before && before.epoch !== epoch) state.losses.push({ ...before, seenAtMs: Date.now() });
        state.live.set(n, { sessionId, epoch });
        break;
      }
      const problem = (await response?.json().catch(() => null)) as {
        code?: string;
        retry_after_seconds?: number;
      } | null;
      count(response === null ? 'no answer' : (problem?.code ?? String(response.status)));
      await sleep((problem?.retry_after_seconds ?? 1) * 1_000, undefined, { signal: stopped.signal }).catch(() => {});
    }
    const name = `${kind} during ${phase}`;
    state.latencies.set(name, [...(state.latencies.get(name) ?? []), performance.now() - beganMs]);
  }

  const keep = async (n: number) => {
    while (!stopped.signal.aborted) {
      await sleep(EACH_MS * (0.75 + Math.random() / 2), undefined, { signal: stopped.signal }).catch(() => {});
      if (!stopped.signal.aborted) await lease(n);
    }
  };
  return Object.assign(state, {
    async ramp(total: number, aSecond: number) {
      const first = Array.from({ length: total }, async (_, n) => {
        await sleep((n * 1_000) / aSecond);
        await lease(n);
        work.push(keep(n));
      });
      await Promise.all(first);
    },
    async stop() {
      stopped.abort();
      await Promise.all(work);
    },
  });
}
