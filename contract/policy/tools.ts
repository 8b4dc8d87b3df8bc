import { conditionHolds } from './conditions.ts';
import type { LayeredPolicy, ToolRule } from './document.ts';
import { MatchingWorkSpent, matchingWork } from './matching-work.ts';
import { POLICY_LAYERS, type PolicyLayer } from './sites.ts';

export interface ToolCall {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Value of the argument `sessionId` if the caller omits it. */
  readonly sessionId: string;
}

export interface CallContext {
  /** Whether the model has seen untrusted web content in this session. */
  readonly untrusted: boolean;
}

export interface ToolVerdict {
  readonly action: 'allow' | 'block';
  /** The rule that decided and its place in its layer; null when a default did. */
  readonly rule: ToolRule | null;
  readonly index: number | null;
  /** Null when the built-in default decided. */
  readonly layer: PolicyLayer | null;
  readonly reason: string;
}

/** D1: they reach beyond the lease, so that each is closed until a rule allows it by its whole name; a pattern is not enough. */
export const PROFILE_TOOLS = ['listProfiles', 'setProfile', 'snapshotProfile', 'restoreProfile'] as const;
const isOptIn = (tool: string): boolean => (PROFILE_TOOLS as readonly string[]).includes(tool);

/** Whether a rule is about a tool, whatever the arguments. */
const namesTool = ({ tools, except, action }: ToolRule, tool: string): boolean =>
  tools.some(pattern => (isOptIn(tool) && action !== 'block_always' ? pattern === tool : coversTool(pattern, tool))) &&
  !except?.some(pattern => coversTool(pattern, tool));

interface Match {
  readonly layer: PolicyLayer;
  readonly index: number;
  readonly rule: ToolRule;
  readonly specificity: readonly [layer: number, literal: number, conditions: number];
}

/** `*` matches any run of characters; linear, since each part is searched once from the left. */
export function coversTool(pattern: string, tool: string): boolean {
  const parts = pattern.split('*');
  const first = parts[0] ?? '';
  const last = parts.at(-1) ?? '';
  if (parts.length === 1) return pattern === tool;
  if (tool.length < first.length + last.length || !tool.startsWith(first) || !tool.endsWith(last)) return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = tool.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return at <= tool.length - last.length;
}

/** An exact name is more specific than any pattern, a pattern with more literal characters than one with fewer. */
const literalChars = (rule: ToolRule, tool: string): number =>
  Math.max(
    ...rule.tools.filter(p => coversTool(p, tool)).map(p => (p.includes('*') ? p.replaceAll('*', '').length : 1000)),
  );

/** The rules that match, most specific first; null when matching would take too long. */
function findMatches(layers: readonly LayeredPolicy[], call: ToolCall): Match[] | null {
  try {
    return collectMatches(layers, call);
  } catch (error) {
    if (error instanceof MatchingWorkSpent) return null;
    throw error;
  }
}

function collectMatches(layers: readonly LayeredPolicy[], call: ToolCall): Match[] {
  const callArguments = { sessionId: call.sessionId, ...call.arguments };
  const work = matchingWork();
  return layers
    .flatMap(({ layer, policy }) => policy.tools.map((rule, index) => ({ layer, rule, index })))
    .filter(({ rule }) => namesTool(rule, call.tool))
    .filter(({ rule }) => rule.when.every(test => conditionHolds(test, callArguments, work)))
    .map(match => ({
      ...match,
      specificity: [
        POLICY_LAYERS.indexOf(match.layer),
        literalChars(match.rule, call.tool),
        match.rule.when.length,
      ] as const,
    }))
    .sort(
      (a, b) =>
        b.specificity[0] - a.specificity[0] ||
        b.specificity[1] - a.specificity[1] ||
        b.specificity[2] - a.specificity[2] ||
        a.index - b.index,
    );
}

/**
 * Decides a call, purely:
 * 1. a `block_always` that matches, in any layer, wins over every allow;
 * 2. else the most specific allow: session before user before deployment, then the exact name before a pattern, then
 *    the rule with more conditions, then the earlier one;
 * 3. else the default of the most specific layer that sets one; built in: allow. An allow that is not
 *    `allow_when_context_is_untrusted` yields in an untrusted context when any layer's `defaults.untrustedContext` is
 *    `block`; a less specific `allow_when_context_is_untrusted` still lets the call pass;
 * 4. a tool of `PROFILE_TOOLS` has no default: it needs an allow that names it.
 * A call is blocked too when its arguments are so large that the layers' conditions would take too long on them.
 */
export function decideToolCall(layers: readonly LayeredPolicy[], call: ToolCall, context: CallContext): ToolVerdict {
  const byDefault = { rule: null, index: null } as const;
  const found = findMatches(layers, call);
  if (found === null)
    return {
      ...byDefault,
      action: 'block',
      layer: null,
      reason: `The arguments of ${call.tool} are too large for the conditions of the policies; send shorter ones, or use fewer and simpler conditions.`,
    };
  const block = found.find(({ rule }) => rule.action === 'block_always');
  if (block) return byRule('block', block, call);

  const quarantine = context.untrusted
    ? narrowestFirst(layers).find(({ policy }) => policy.defaults.untrustedContext === 'block')
    : undefined;
  const allow = quarantine
    ? found.find(({ rule }) => rule.action === 'allow_when_context_is_untrusted')
    : found.find(({ rule }) => rule.action !== 'block_always');
  if (allow) return byRule('allow', allow, call);

  const fallback = narrowestFirst(layers).find(({ policy }) => policy.defaults.tools !== undefined);
  if (found.length === 0 && fallback?.policy.defaults.tools === 'block_always')
    return {
      ...byDefault,
      action: 'block',
      layer: fallback.layer,
      reason: `No rule allows ${call.tool}, and the ${fallback.layer} policy blocks what no rule allows.`,
    };
  if (found.length === 0 && isOptIn(call.tool))
    return {
      ...byDefault,
      action: 'block',
      layer: null,
      reason: `${call.tool} is closed until a rule allows it by its name.`,
    };
  if (quarantine)
    return {
      ...byDefault,
      action: 'block',
      layer: quarantine.layer,
      reason: `Untrusted web content is in the context, and no rule allows ${call.tool} then (${quarantine.layer} policy).`,
    };
  return {
    ...byDefault,
    action: 'allow',
    layer: fallback?.layer ?? null,
    reason: fallback
      ? `No rule matches; the ${fallback.layer} policy allows what no rule blocks.`
      : 'No rule matches; calls are allowed by default.',
  };
}

/** Whether no arguments could make a call of this tool pass; such a tool is not listed. */
export function isNeverAllowed(layers: readonly LayeredPolicy[], tool: string): boolean {
  const rules = layers.flatMap(({ policy }) => policy.tools).filter(rule => namesTool(rule, tool));
  if (rules.some(({ action, when }) => action === 'block_always' && when.length === 0)) return true;
  if (rules.some(({ action }) => action !== 'block_always')) return false;
  const fallback = narrowestFirst(layers).find(({ policy }) => policy.defaults.tools !== undefined);
  return isOptIn(tool) || fallback?.policy.defaults.tools === 'block_always';
}

/** Which rule decides and which others matched, one sentence each, for `policy test`. */
export function explainToolCall(layers: readonly LayeredPolicy[], call: ToolCall, context: CallContext): string[] {
  const verdict = decideToolCall(layers, call, context);
  const others = (findMatches(layers, call) ?? []).filter(({ rule }) => rule !== verdict.rule);
  return [
    `${verdict.action}: ${verdict.reason}`,
    ...others.map(({ layer, index, rule }) => `also matches: ${layer} tools[${index}] (${rule.action})`),
  ];
}

const narrowestFirst = (layers: readonly LayeredPolicy[]): LayeredPolicy[] =>
  [...layers].sort((a, b) => POLICY_LAYERS.indexOf(b.layer) - POLICY_LAYERS.indexOf(a.layer));

function byRule(action: 'allow' | 'block', { layer, index, rule }: Match, call: ToolCall): ToolVerdict {
  const why = rule.reason ? `: ${rule.reason}` : '.';
  const did = action === 'block' ? 'blocks' : 'allows';
  return { action, rule, index, layer, reason: `The ${layer} policy's rule tools[${index}] ${did} ${call.tool}${why}` };
}
