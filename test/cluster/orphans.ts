import { kubectl } from '../../cluster/kubectl.ts';
import { ENDED, LABELS, NAMESPACES } from '../../contract/names.ts';
import { rows } from './database.ts';

interface Listed {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Record<string, string> };
}

const RUNNERS = `select r.id, r.state, p.slot from omicron.runners r left join omicron.permits p on p.runner_id = r.id
  where r.state <> 'gone' or p.slot is not null`;
const HOMELESS = `select s.id, s.status from omicron.browser_sessions s left join omicron.runners r on r.id = s.runner_id
  where s.status in ('starting', 'ready') and (r.id is null or r.state in ('draining', 'gone'))`;

/**
 * Differences between cluster and database: pods and Services that no row knows, rows that are not at rest (being
 * made or removed), rows without their pod, Service or permit, permits of runners that are gone, leases whose runner
 * is.
 */
export async function orphans(): Promise<string[]> {
  const found = ['-n', NAMESPACES.runners, 'get', 'pods,services', '-o', 'json'];
  // The address of a lease that has ended is kept for a while, and its runner is gone.
  const objects = (JSON.parse(await kubectl(found)) as { items: Listed[] }).items.filter(
    ({ metadata }) => metadata.labels?.[LABELS.state] !== ENDED,
  );
  const runners = await rows<{ id: string; state: string; slot: number | null }>(RUNNERS);
  const known = new Set(runners.filter(({ state }) => state !== 'gone').map(({ id }) => id));
  const of = (kind: string) =>
    new Set(objects.filter(each => each.kind === kind).map(({ metadata }) => metadata.labels?.[LABELS.runnerId]));
  const [pods, services] = [of('Pod'), of('Service')];
  return [
    ...objects
      .filter(({ metadata }) => !known.has(metadata.labels?.[LABELS.runnerId] ?? ''))
      .map(({ kind, metadata }) => `${kind} ${metadata.name} has no row`),
    ...runners.flatMap(({ id, state, slot }) => {
      if (state === 'gone') return [`permit ${slot} is held by ${id}, which is gone`];
      if (state === 'creating' || state === 'draining') return [`runner ${id} is ${state}`];
      return [
        ...(pods.has(id) ? [] : [`runner ${id} is ${state} without a pod`]),
        ...(services.has(id) ? [] : [`runner ${id} is ${state} without a Service`]),
        ...(slot === null ? [`runner ${id} is ${state} without a permit`] : []),
      ];
    }),
    ...(await rows<{ id: string; status: string }>(HOMELESS)).map(
      ({ id, status }) => `session ${id} is ${status} without a runner`,
    ),
  ];
}
