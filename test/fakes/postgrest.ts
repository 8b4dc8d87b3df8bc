import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import pg from 'pg';

/** PostgREST's rpc over one database: <https://postgrest.org/en/stable/references/api/functions.html>. */
export interface Postgrest extends AsyncDisposable {
  url: string;
  /** The requests, without keys: `POST /rest/v1/rpc/get_vault_secret 200`. */
  readonly asked: string[];
}

interface Refusal {
  status: number;
  code: string;
  message: string;
}

const isRefusal = (error: unknown): error is Refusal =>
  typeof error === 'object' && error !== null && 'status' in error;

/** Serves functions of `public` under the role that each API key stands for, by named arguments alone. */
export async function postgrest(databaseUrl: string, roleOfKey: Record<string, string>): Promise<Postgrest> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 8 });
  const asked: string[] = [];

  async function call(request: IncomingMessage): Promise<unknown> {
    const key = String(request.headers.apikey ?? '');
    const role = Object.hasOwn(roleOfKey, key) ? roleOfKey[key] : undefined;
    if (!role || request.headers.authorization !== `Bearer ${key}`)
      throw { status: 401, code: '401', message: 'Invalid API key' } satisfies Refusal;
    const name = /^\/rest\/v1\/rpc\/(\w+)$/.exec(request.url ?? '')?.[1];
    if (!name || request.method !== 'POST')
      throw { status: 404, code: 'PGRST125', message: 'Invalid path' } satisfies Refusal;
    if (!request.headers['content-type']?.startsWith('application/json'))
      throw { status: 415, code: 'PGRST102', message: 'Content-Type not acceptable' } satisfies Refusal;
    const body = await text(request);
    const given = Object.keys(JSON.parse(body)).sort();
    const client = await pool.connect();
    try {
      const { rows } = await client.query<{ names: string[]; types: string[] }>(
        `select proargnames as names, array(select format_type(t, null) from unnest(proargtypes) with ordinality u(t, n) order by n) as types
           from pg_proc where proname = $1 and pronamespace = 'public'::regnamespace`,
        [name],
      );
      const found = rows.find(row => JSON.stringify([...row.names].sort()) === JSON.stringify(given));
      if (!found)
        throw {
          status: 404,
          code: 'PGRST202',
          message: `Could not find the function public.${name}`,
        } satisfies Refusal;
      const record = found.names.map((argument, index) => `${argument} ${found.types[index]}`).join(', ');
      const passed = found.names.map(argument => `${argument} => a.${argument}`).join(', ');
      await client.query('begin');
      await client.query(`set local role ${role}`);
      const answer = await client.query<{ answer: unknown }>(
        `select to_json(public.${name}(${passed})) as answer from json_to_record($1::json) as a(${record})`,
        [body],
      );
      await client.query('commit');
      return answer.rows[0]?.answer ?? null;
    } catch (error) {
      await client.query('rollback');
      if (error instanceof pg.DatabaseError)
        throw {
          status: error.code === '42501' ? 403 : 400,
          code: error.code ?? '',
          message: error.message,
        } satisfies Refusal;
      throw error;
    } finally {
      client.release();
    }
  }

  const server = createServer((request, response) => {
    const send = (status: number, body: unknown) => {
      asked.push(`${request.method} ${request.url} ${status}`);
      response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body));
    };
    call(request).then(
      answer => send(200, answer),
      error => (isRefusal(error) ? send(error.status, error) : send(500, { code: 'PGRST000', message: String(error) })),
    );
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
      await pool.end();
    },
  };
}
