import { setTimeout as sleep } from 'node:timers/promises';

/** A caller is served or refused within it, whatever was killed: a claim of a second, and a runner's patience. */
const BOUND_MS = 30_000;

export interface CallerPlan {
  user: string;
  conversation: string;
  deletes: boolean;
  afterMs: number;
}

/**
 * A platform: asks until it has a lease, repeats what was not answered, and ends it. Resolves with what went wrong. `sign`: a token for each request,
 * since one lives for a minute.
 */
export async function beCaller(address: string, sign: () => Promise<string>, plan: CallerPlan): Promise<string | null> {
  await sleep(plan.afterMs);
  const deadlineMs = performance.now() + BOUND_MS;
  const post = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${address}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${await sign()}`,
        connection: 'close',
        ...(body ? { 'content-type': 'application/json' } : {}),
      },
      signal: AbortSignal.timeout(BOUND_MS),
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    return {
      status: response.status,
      body: (await response.json().catch(() => null)) as { [key: string]: unknown } | null,
    };
  };
  const untilAnswered = async (what: string, work: () => ReturnType<typeof post>) => {
    let last = '';
    while (performance.now() < deadlineMs) {
      try {
        const answer = await work();
        const isOver = answer.body?.code === 'lease_ended' && what !== 'get-or-create';
        if (answer.status < 400 || isOver) return answer;
        last = `${answer.status} ${answer.body?.code}`;
      } catch (error) {
        last = String((error as Error).cause ?? error); // the controller was killed: another one is asked
      }
      await sleep(50);
    }
    throw new Error(`${what} of ${plan.user}/${plan.conversation} was not served within ${BOUND_MS} ms: ${last}`);
  };
  const request = {
    user_id: plan.user,
    conversation_id: plan.conversation,
    wait_seconds: 5,
    ttl_seconds: 60,
    record_video: false,
  };
  try {
    const { body } = await untilAnswered('get-or-create', async () => {
      const answer = await post('POST', '/internal/browser-sessions/get-or-create', request);
      return answer.body?.status === 'ready' || answer.status >= 400 ? answer : { ...answer, status: 503 };
    });
    const path = `/internal/browser-sessions/${body?.session_id}`;
    if (plan.deletes) await sleep(20);
    else await untilAnswered('heartbeat', () => post('POST', `${path}/heartbeat`, {}));
    await untilAnswered('DELETE', () => post('DELETE', `${path}?epoch=${body?.epoch}`));
    return null;
  } catch (error) {
    return `claimed ends within its bound: ${(error as Error).message}`;
  }
}
