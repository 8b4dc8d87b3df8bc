import { type Finding, findings, type Resource, type Rule } from './rule.ts';
import { CLUSTER_RULES } from './rules/cluster.ts';
import { IDENTITY } from './rules/identity.ts';
import { MAINTENANCE } from './rules/maintenance.ts';
import { NODES } from './rules/nodes.ts';
import { STORAGE } from './rules/storage.ts';
import { WAIVERS, type Waiver, waives } from './waivers.ts';

/** Every rule that a stack of this project must keep. Tests, CrossGuard and CI run this one list. */
export const RULES: readonly Rule[] = [...STORAGE, ...NODES, ...CLUSTER_RULES, ...IDENTITY, ...MAINTENANCE];

/** What one rule finds, without waived findings. */
export const judge = (rule: Rule, resources: readonly Resource[]): readonly Finding[] =>
  findings(rule, resources).filter(finding => !WAIVERS.some(waiver => waives(waiver, rule, finding)));

/** One line for the operator: what to do, where, and why. */
export const describe = (rule: Rule, { message, statement }: Finding): string =>
  `${message}${statement ? ` (statement ${statement})` : ''}. ${rule.reason} ${rule.link}`;

export interface Violation extends Finding {
  readonly rule: string;
}

/** Every violation of every rule. */
export const violations = (resources: readonly Resource[]): readonly Violation[] =>
  RULES.flatMap(rule => judge(rule, resources).map(finding => ({ rule: rule.name, ...finding })));

/** Waivers that no finding needs any more: to be removed. */
export const idleWaivers = (resources: readonly Resource[]): readonly Waiver[] =>
  WAIVERS.filter(
    waiver => !RULES.some(rule => findings(rule, resources).some(finding => waives(waiver, rule, finding))),
  );
