/** A resource of a stack, as mocks capture it or a CrossGuard analyzer receives it. `props` are its inputs. */
export interface Resource {
  readonly type: string;
  readonly name: string;
  readonly props: Readonly<Record<string, unknown>>;
  /** Pulumi refuses to delete it. */
  readonly protect: boolean;
}

/** The fault of a resource. */
export interface Finding {
  readonly resource: Resource;
  readonly message: string;
  /** `Sid` of the statement, where the finding is one of an IAM document. */
  readonly statement?: string;
}

interface About {
  /** Kebab case; a violation is known by it. */
  readonly name: string;
  /** The damage when the rule is broken. */
  readonly reason: string;
  readonly link: string;
}

/** Checks one resource: CrossGuard runs it before the resource is created. */
export interface ResourceRule extends About {
  readonly scope: 'resource';
  /** Types that it applies to; `undefined` means all. */
  readonly types?: readonly string[];
  check(resource: Resource): readonly (string | { message: string; statement: string })[];
}

/** Checks how resources relate: CrossGuard runs it when all are known. */
export interface StackRule extends About {
  readonly scope: 'stack';
  check(resources: readonly Resource[]): readonly Finding[];
}

export type Rule = ResourceRule | StackRule;

/** Findings of one rule, waivers not yet considered. */
export function findingsOf(rule: Rule, resources: readonly Resource[]): readonly Finding[] {
  if (rule.scope === 'stack') return rule.check(resources);
  return resources
    .filter(resource => !rule.types || rule.types.includes(resource.type))
    .flatMap(resource =>
      rule
        .check(resource)
        .map(found => (typeof found === 'string' ? { resource, message: found } : { resource, ...found })),
    );
}

/**
 * Reads a nested property without knowing its shape. CrossGuard's props throw on a value that a preview does not know
 * yet; that error must propagate: the analyzer then reports the rule as not evaluated.
 */
export function readPath(value: unknown, ...path: readonly (string | number)[]): unknown {
  let node = value;
  for (const step of path) {
    if (typeof node !== 'object' || node === null) return undefined;
    node = (node as Readonly<Record<string | number, unknown>>)[step];
  }
  return node;
}

export const toList = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value : value === undefined || value === null ? [] : [value];
