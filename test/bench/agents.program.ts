// Agents that wait for a person, as a process of their own: see waitingAgents.
import { httpCalls } from '../../http/call.ts';

/** The first message of the parent; any later one ends the agents once their calls are answered. */
export interface AgentsOrder {
  readonly url: string;
  readonly waitMs: number;
  readonly agents: readonly { readonly token: string; readonly id: string }[];
}

let isOver = false;
const call = httpCalls();

async function wait({ url, waitMs, agents }: AgentsOrder, n: number): Promise<void> {
  const agent = agents[n];
  await new Promise(done => setTimeout(done, (n * waitMs) / agents.length)); // they do not keep step
  while (!isOver) {
    const headers = { authorization: `Bearer ${agent?.token}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ id: agent?.id, reason: 'a code', timeout_seconds: 120, wait_ms: waitMs });
    const answer = await call(
      `${url}/internal/runner-user-actions`,
      { method: 'POST', headers, body },
      AbortSignal.timeout(2 * waitMs),
    );
    if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
  }
}

process.once('message', (order: AgentsOrder) => {
  process.on('message', () => {
    isOver = true;
  });
  void Promise.all(order.agents.map((_, n) => wait(order, n))).then(() => process.disconnect());
});
