import { kubectl } from '../../cluster/kubectl.ts';
import { namesOfRunners } from '../../cluster/names.ts';
import { LABELS, NAMESPACES } from '../../contract/names.ts';
import { rows } from './database.ts';

interface Listed {
  readonly metadata: { readonly name: string; readonly labels?: Record<string, string> };
}

const RUNNERS = `select r.id, r.state, p.slot from omicron.runners r left join omicron.permits p on p.runner_id = r.id
  where r.state <> 'gone' or p.slot is not null`;
const HOMELESS = `select s.id, s.status from omicron.browser_sessions s left join omicron.runners r on r.id = s.runner_id
  where s.status in ('starting', 'ready') and (r.id is null or r.state in ('draining', 'gone'))`;

/**
 * Differences between cluster and database: pods and names that no row knows, rows that are not at rest (being
 * made or removed), rows without their pod, name or permit, permits of runners that are gone, leases whose runner
 * is.
 */
export async function orphans(): Promise<string[]> {
  const found = ['-n', NAMESPACES.runners, 'get', 'pods', '-o', 'json'];
  const items = (JSON.parse(await kubectl(found)) as { items: Listed[] }).items;
  // The name of a lease that has ended is kept for a while, and its runner is gone.
  const named = (await namesOfRunners(NAMESPACES.runners)).filter(({ targetRef }) => targetRef !== undefined);
  const runners = await rows<{ id: string; state: string; slot: number | null }>(RUNNERS);
  const known = new Set(runners.filter(({ state }) => state !== 'gone').map(({ id }) => id));
  const pods = new Set(items.map(({ metadata }) => metadata.labels?.[LABELS.runnerId]));
  const names = named.map(({ hostname = '' }) => hostname);
  return [
    ...items
      .filter(({ metadata }) => !known.has(metadata.labels?.[LABELS.runnerId] ?? ''))
      .map(({ metadata }) => `pod ${metadata.name} has no row`),
    ...names.filter(name => ![...known].some(id => name.endsWith(id))).map(name => `name ${name} has no row`),
    ...runners.flatMap(({ id, state, slot }) => {
      if (state === 'gone') return [`permit ${slot} is held by ${id}, which is gone`];
      if (state === 'creating' || state === 'draining') return [`runner ${id} is ${state}`];
      return [
        ...(pods.has(id) ? [] : [`runner ${id} is ${state} without a pod`]),
        ...(names.some(name => name.endsWith(id)) ? [] : [`runner ${id} is ${state} without a name`]),
        ...(slot === null ? [`runner ${id} is ${state} without a permit`] : []),
      ];
    }),
    ...(await rows<{ id: string; status: string }>(HOMELESS)).map(
      ({ id, status }) => `session ${id} is ${status} without a runner`,
    ),
  ];
}
