import { type Finding, findingsOf, type Resource, type Rule } from './rule.ts';
import { CLUSTER_RULES } from './rules/cluster.ts';
import { IDENTITY } from './rules/identity.ts';
import { MAINTENANCE } from './rules/maintenance.ts';
import { NODES } from './rules/nodes.ts';
import { STORAGE } from './rules/storage.ts';
import { isWaivedBy, WAIVERS, type Waiver } from './waivers.ts';

/** Every rule that a stack of this project must keep. Tests, CrossGuard and CI run this one list. */
export const RULES: readonly Rule[] = [...STORAGE, ...NODES, ...CLUSTER_RULES, ...IDENTITY, ...MAINTENANCE];

/** Findings of one rule, without waived ones. */
export const judge = (rule: Rule, resources: readonly Resource[]): readonly Finding[] =>
  findingsOf(rule, resources).filter(finding => !WAIVERS.some(waiver => isWaivedBy(waiver, rule, finding)));

/** One line for the operator: what to do, where, and why. */
export const describe = (rule: Rule, { message, statement }: Finding): string =>
  `${message}${statement ? ` (statement ${statement})` : ''}. ${rule.reason} ${rule.link}`;

export interface Violation extends Finding {
  readonly rule: string;
}

/** Every violation of every rule. */
export const findViolations = (resources: readonly Resource[]): readonly Violation[] =>
  RULES.flatMap(rule => judge(rule, resources).map(finding => ({ rule: rule.name, ...finding })));

/** Waivers that no finding needs any more: to be removed. */
export const findIdleWaivers = (resources: readonly Resource[]): readonly Waiver[] =>
  WAIVERS.filter(
    waiver => !RULES.some(rule => findingsOf(rule, resources).some(finding => isWaivedBy(waiver, rule, finding))),
  );
