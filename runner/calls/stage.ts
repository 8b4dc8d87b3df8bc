import type { CallToolResult } from '@modelcontextprotocol/server';
import type { ToolVerdict } from '../../contract/policy/tools.ts';
import type { Conceal } from '../budget/cut.ts';
import type { View } from '../snapshot/view.ts';
import type { Caller } from './caller.ts';
import type { LeaseTool } from './lease-tools.ts';
import type { PageFacts } from './page-facts.ts';

/** One call on its way. A stage may set what the stages above it read. */
export interface Call {
  readonly name: string;
  /** The arguments as the agent sent them. */
  readonly given: Readonly<Record<string, unknown>>;
  readonly caller: Caller;
  /** Set by `admit`: the tool, its arguments without those of every call, and how the agent wants to see the page. */
  admitted?: Admitted;
  /** Set by `policy` where it blocks the call. */
  verdict?: ToolVerdict;
  /** Set by `bounds` for a tool that does not use the page: aborts when the call is cancelled or its time is over. */
  inTime?: AbortSignal;
  /** Set by `notes`: the page that the call leaves. */
  page?: PageFacts;
  /** Set by `conceal`: takes out of a text what fields held before and after the call. */
  conceal?: Conceal;
}

export interface Admitted {
  readonly tool: LeaseTool;
  readonly args: Readonly<Record<string, unknown>>;
  readonly view: View;
}

export type Stage = (call: Call, next: () => Promise<CallToolResult>) => Promise<CallToolResult>;

/** Runs a call through stages. */
export function runStages(stages: readonly Stage[], call: Call): Promise<CallToolResult> {
  const [stage, ...below] = stages;
  if (stage === undefined) throw new Error('The last stage of a call answers it.');
  return stage(call, () => runStages(below, call));
}

/** The part of a call that `admit` sets. Throws above `admit`. */
export function admittedOf({ admitted }: Pick<Call, 'admitted'>): Admitted {
  if (admitted === undefined) throw new Error('The call is not admitted yet.');
  return admitted;
}
