import { Agent, createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Database } from '../../controller/ports/database.ts';
import type { RunnerProvider } from '../../controller/ports/runners.ts';

/** Names the address of the stub to the controller. */
export const STUB_VARIABLE = 'BENCH_RUNNERS';
export const STUB_TEMPLATE = 'bench';

/** The runners at this address, as a controller's provider: they live until they are removed. */
export const stubProvider = (url: string): RunnerProvider => ({
  name: 'local',
  capabilities: { holdsSiteRules: true, keepsBrowserFiles: true, launchesAtOnce: 8 },
  templateDigest: async () => STUB_TEMPLATE,
  create: async () => {},
  whenWarm: async id => ({ bootId: id, endpoint: `${url}/${id}` }),
  deathOf: async () => null,
  remove: async () => 'gone',
  addressOf: ({ endpoint }) => ({ mcpUrl: `${endpoint}/mcp`, workload: null }),
  markLeased: () => undefined,
  list: async () => [],
});

/**
 * Runners without browsers, as one server: each takes its assignment, redeems it at its controller below the trace of the assignment,
 * and acknowledges every drain. Their addresses are `<url>/<runner id>`. `leaseTokens`: those of runners, for reports, by
 * session; a lease may be ready before its token is here.
 */
export async function runnerStub(controllerOf: (runnerId: string) => string) {
  const agent = new Agent({ keepAlive: true });
  const leaseTokens = new Map<string, string>();
  const redeem = async (runnerId: string, sessionId: string, token: string, traceparent?: string): Promise<number> => {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const headers = { authorization: `Bearer ${token}`, ...(traceparent ? { traceparent } : {}) };
    request(`${controllerOf(runnerId)}/internal/runner-secrets`, { method: 'POST', agent, headers }, resolve)
      .on('error', reject)
      .end();
    const answer = await promise;
    const body = await text(answer);
    if (answer.statusCode === 200) leaseTokens.set(sessionId, JSON.parse(body).lease_token);
    return answer.statusCode ?? 0;
  };
  const server = createServer(async (incoming, response) => {
    const [, runnerId = '', action] = (incoming.url ?? '').split('/');
    const answer = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const body = await text(incoming);
    if (action === 'drain') return void answer(200, { acknowledged: true });
    if (action !== 'assign') return void answer(404, {});
    const { token } = JSON.parse(body);
    const { session_id, epoch } = JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString());
    const { traceparent } = incoming.headers;
    const status = await redeem(runnerId, session_id, token, typeof traceparent === 'string' ? traceparent : undefined);
    if (status === 200) answer(200, { runner_id: runnerId, boot_id: runnerId, session_id, epoch });
    else answer(500, {});
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on TCP
  return {
    url,
    leaseTokens,
    async [Symbol.asyncDispose]() {
      agent.destroy();
      server.closeAllConnections();
      await new Promise(done => server.close(done));
    },
  };
}

/** Warm runners of the stub, as many as are asked for; the pool does not end them. */
export async function warmRunners(database: Pick<Database, 'query'>, stubUrl: string, count: number): Promise<void> {
  await database.query(
    `with made as (
       insert into omicron.runners (id, provider, template, state, boot_id, endpoint, warm_at, created_at)
       select id, 'local', $3, 'warm', id, $1 || '/' || id, clock_timestamp(), clock_timestamp() + interval '1 day'
         from (select gen_random_uuid() id from generate_series(1, $2)) each returning id
     )
     update omicron.permits p set runner_id = made.id
       from (select id, row_number() over () n from made) made
       join (select slot, row_number() over (order by slot) n from omicron.permits where runner_id is null) free using (n)
      where p.slot = free.slot`,
    [stubUrl, count, STUB_TEMPLATE],
  );
}
