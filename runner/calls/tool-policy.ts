import type { EffectivePolicy } from '../../contract/policy/document.ts';
import { decideToolCall, isNeverAllowed, type ToolVerdict } from '../../contract/policy/tools.ts';

/** The policy of one lease, kept up to date while the lease lives (A6). */
export interface ToolPolicy {
  /** As it is now, every layer. */
  current(): EffectivePolicy;
  decide(tool: string, args: Record<string, unknown>, untrusted: boolean): ToolVerdict;
  /** Whether the tool is shown to agents. */
  lists(tool: string): boolean;
  /** Called with the version in force. Another one is fetched; until that succeeds the previous policy stands. */
  seen(version: string): void;
}

export interface ToolPolicyOptions {
  readonly policy: EffectivePolicy;
  readonly sessionId: string;
  readonly fetch: () => Promise<EffectivePolicy>;
  readonly onChange: () => void;
  readonly warn: (message: string, details: Record<string, unknown>) => void;
}

export function toolPolicy({ policy, sessionId, fetch, onChange, warn }: ToolPolicyOptions): ToolPolicy {
  let current = policy;
  let fetching = false;
  return {
    current: () => current,
    decide: (tool, args, untrusted) =>
      decideToolCall(current.layers, { tool, arguments: args, sessionId }, { untrusted }),
    lists: tool => !isNeverAllowed(current.layers, tool),
    seen(version) {
      if (version === current.version || fetching) return;
      fetching = true;
      fetch()
        .then(newer => {
          current = newer;
          onChange();
        })
        // The answer to the next report carries the version again.
        .catch((error: unknown) => warn('policy refresh failed; keeping the previous policy', { version, error }))
        .finally(() => {
          fetching = false;
        });
    },
  };
}
