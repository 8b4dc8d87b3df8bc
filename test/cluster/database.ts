import { FIXTURES } from '../../cluster/fixtures/objects.ts';
import { kubectl } from '../../cluster/kubectl.ts';

const IN_POD = ['-n', FIXTURES, 'exec', '-i', 'deployment/postgres', '--', 'sh', '-c'] as const;
const PSQL =
  'PATH="$(echo /usr/lib/postgresql/*/bin):$PATH" PGPASSWORD="$(cat /password/password)" psql -X -h /tmp -U omicron -d omicron -v ON_ERROR_STOP=1 -Atq';

/** What a query of the controllers' database answers. */
export async function rows<Row>(sql: string): Promise<Row[]> {
  return JSON.parse(await kubectl([...IN_POD, PSQL], `select coalesce(json_agg(t), '[]') from (${sql}) t;`));
}

/** Runs statements, one transaction each. */
export async function execute(sql: string): Promise<void> {
  await kubectl([...IN_POD, PSQL], sql);
}

/** Begins statements on a connection of their own inside the server's pod, and does not wait for them. */
export async function begin(sql: string): Promise<void> {
  // Postgres is the pod's first process: it would take a child that ends with an error for a crashed backend of its
  // own.
  await kubectl([...IN_POD, `(${PSQL} -c "${sql}" || true) >/dev/null 2>&1 </dev/null &`]);
}
