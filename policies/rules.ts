import { type Finding, findings, type Resource, type Rule } from './rule.ts';
import { CLUSTER_RULES } from './rules/cluster.ts';
import { IDENTITY } from './rules/identity.ts';
import { NODES } from './rules/nodes.ts';
import { STORAGE } from './rules/storage.ts';
import { UPKEEP } from './rules/upkeep.ts';
import { WAIVERS, type Waiver, waives } from './waivers.ts';

/** Every rule that a stack of this project must keep. One list: tests, CrossGuard and CI run this one. */
export const RULES: readonly Rule[] = [...STORAGE, ...NODES, ...CLUSTER_RULES, ...IDENTITY, ...UPKEEP];

/** What one rule finds, without what a waiver excuses. */
export const judge = (rule: Rule, resources: readonly Resource[]): readonly Finding[] =>
  findings(rule, resources).filter(finding => !WAIVERS.some(waiver => waives(waiver, rule, finding)));

/** One line for a person: what to do, where, and why. */
export const describe = (rule: Rule, { message, statement }: Finding): string =>
  `${message}${statement ? ` (statement ${statement})` : ''}. ${rule.reason} ${rule.link}`;

export interface Violation extends Finding {
  readonly rule: string;
}

/** Every violation of every rule. */
export const violations = (resources: readonly Resource[]): readonly Violation[] =>
  RULES.flatMap(rule => judge(rule, resources).map(finding => ({ rule: rule.name, ...finding })));

/** Waivers that excuse nothing any more: to be removed. */
export const idleWaivers = (resources: readonly Resource[]): readonly Waiver[] =>
  WAIVERS.filter(
    waiver => !RULES.some(rule => findings(rule, resources).some(finding => waives(waiver, rule, finding))),
  );
