import type { Elicitation } from '../tools/elicitation.ts';

/** The sender of a call, and everything that comes with it beside its arguments. */
export interface Caller {
  /** Aborts when the client cancels the call or is gone. */
  readonly signal: AbortSignal;
  /** `_meta.traceparent` as it was sent: https://www.w3.org/TR/trace-context/ */
  readonly traceparent: unknown;
  /** The revision of MCP that its client speaks, as it was sent; older ones send none. */
  readonly protocolVersion: string | undefined;
  /** Whether its client shows apps (`contract/mcp-app.ts`) and calls for their pages. */
  readonly showsApps: boolean;
  /** Undefined: its client cannot send its person to an address. */
  readonly elicitation: Elicitation | undefined;
}
