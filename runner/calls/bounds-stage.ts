import type { CallToolResult } from '@modelcontextprotocol/server';
import { OmicronError } from '../../contract/problem.ts';
import { failureResult, normaliseFailure, timeoutResult } from '../results/result.ts';
import { CANCELLED } from './bounds.ts';
import type { CallLease } from './call-lease.ts';
import { admittedOf, type Call, type Stage } from './stage.ts';

/** Ends a call after its time, when it is cancelled, and with the browser; every failure below is a result. */
export const bounds =
  ({ browser }: Pick<CallLease, 'browser'>): Stage =>
  async (call, next) => {
    const { tool, args } = admittedOf(call);
    if (!tool.usesPage) return boundBeside(call, next);
    const { name, seconds } = tool.definition;
    const result = await browser.parts.bounded(name, seconds, call.caller.signal, next);
    return tool.formOf(args) === tool.definition.playwright ? result : normaliseFailure(result);
  };

/** A tool that does not use the page ends itself, by its signal. */
async function boundBeside(call: Call, next: () => Promise<CallToolResult>): Promise<CallToolResult> {
  const { name, seconds } = admittedOf(call).tool.definition;
  const late = AbortSignal.timeout(seconds * 1_000);
  call.inTime = AbortSignal.any([call.caller.signal, late]);
  try {
    return await next();
  } catch (error) {
    if (call.caller.signal.aborted) return CANCELLED;
    if (late.aborted) return timeoutResult(name, seconds);
    return failureResult(
      error instanceof OmicronError ? error.code : 'action_failed',
      error instanceof Error ? error.message : String(error),
    );
  }
}
