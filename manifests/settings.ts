import type { Environment, FurtherSettings } from './environment-type.ts';
import { SECRET_SETTINGS } from './secrets.ts';

/** Dotted paths to the values of T: `limits.capacity`. */
type PathsOf<T> = T extends string | number | boolean | readonly unknown[]
  ? never
  : { [K in keyof T & string]-?: K | `${K}.${PathsOf<NonNullable<T[K]>>}` }[keyof T & string];

/** A field of an environment, by its path. */
export type EnvironmentField = PathsOf<Omit<Environment, 'settings'>>;

/** How the manifests set one variable of a program; without a value the variable is not set. */
export type Given =
  | { readonly value: string | undefined; readonly field: EnvironmentField }
  | { readonly value: string | undefined; readonly fixed: string }
  | { readonly value: string; readonly preset: true };

/** A value that a field of the environment decides. */
export const byField = (field: EnvironmentField, value: string | undefined): Given => ({ value, field });

/** A value that other manifests rely on, and why no environment may have another. */
export const fixedSetting = (value: string | undefined, why: string): Given => ({ value, fixed: why });

/** The value of every environment whose `settings` have no other. */
export const preset = (value: string | number): Given => ({ value: String(value), preset: true });

/** Adds an environment's further settings. Throws for one that a field, a Secret or the manifests themselves decide. */
export function resolveSettings(
  given: Readonly<Record<string, Given>>,
  further: FurtherSettings = {},
): Readonly<Record<string, string>> {
  for (const name of Object.keys(further)) {
    const why = whyRefused(name, given[name]);
    if (why !== undefined) throw new Error(`manifests/environments.ts: settings cannot have ${name}: ${why}.`);
  }
  const own = Object.entries(given).flatMap(([name, { value }]) => (value === undefined ? [] : [[name, value]]));
  return { ...Object.fromEntries(own), ...further };
}

function whyRefused(name: string, given: Given | undefined): string | undefined {
  if (SECRET_SETTINGS.has(name)) return 'a Secret holds it';
  if (given === undefined || 'preset' in given) return undefined;
  return 'field' in given ? `set the field ${given.field} instead` : given.fixed;
}
