import type { CallToolResult } from '@modelcontextprotocol/server';
import { CANCELLED } from './bounds.ts';

/** Runs `work` once every turn before has ended: calls do not overlap. `work` never rejects. */
export type Turn = (signal: AbortSignal, work: () => Promise<CallToolResult>) => Promise<CallToolResult>;

/** Runs pieces of work one after the other; one that is cancelled before it starts is skipped. */
export function turns(): Turn {
  let last: Promise<unknown> = Promise.resolve();
  return (signal, work) => {
    const mine = last.then(() => (signal.aborted ? CANCELLED : work()));
    last = mine;
    return mine;
  };
}
