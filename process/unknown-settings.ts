import { ENV } from '../contract/names.ts';

/** A variable that is named as a setting of this repository and is none. */
export interface UnknownSetting {
  readonly name: string;
  /** The setting whose name is nearest, and how many letters differ. */
  readonly nearest: string;
  readonly distance: number;
}

const PREFIX = 'OMICRON_';
/** Variables of tests and tools of a clone, which no program reads. */
const OF_DEVELOPMENT = /^OMICRON_(?:CI|CLUSTER|SEARCH|TEST)_/;
/** Kubernetes names Services so: <https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables>. */
const OF_A_SERVICE = /_(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_\w+)?)$/;

const SETTINGS: readonly string[] = Object.values(ENV);

/** Variables that would silently set nothing, by name. */
export function findUnknownSettings(environment: Readonly<Record<string, unknown>>): UnknownSetting[] {
  const services = Object.keys(environment).filter(name => name.endsWith('_SERVICE_HOST'));
  const isOfService = (name: string) =>
    OF_A_SERVICE.test(name) || services.some(host => name === host.replace(/_SERVICE_HOST$/, '_PORT'));
  return Object.keys(environment)
    .filter(name => name.startsWith(PREFIX) && !SETTINGS.includes(name))
    .filter(name => !OF_DEVELOPMENT.test(name) && !isOfService(name))
    .sort()
    .map(nearestTo);
}

function nearestTo(name: string): UnknownSetting {
  const [nearest] = SETTINGS.map(each => ({ name, nearest: each, distance: editDistance(name, each) })).sort(
    (a, b) => a.distance - b.distance,
  );
  return nearest ?? { name, nearest: '', distance: name.length };
}

/** Levenshtein: the fewest letters to add, drop or replace. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let line = 1; line <= from.length; line++) {
    const next = [line];
    for (let column = 1; column <= to.length; column++) {
      const replaced = (row[column - 1] ?? 0) + (from[line - 1] === to[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
