/**
 * How one call sends its client's person to an address, in rounds: the call is answered with a question, and the client repeats it
 * with the answer (MCP 2026-07-28, multi round-trip requests).
 */
export interface Elicitation {
  /** The user action of an earlier round, and whether the person declined in the client. Undefined: this is the first round. */
  readonly earlier: { readonly id: string; readonly declined: boolean } | undefined;
  /** Ends this round: the client asks its person to open the address, and repeats the call. */
  ask(id: string, message: string, url: string): void;
  /** Ends this round: the client repeats the call at once. Clients repeat a call a few times only: after that it does nothing. */
  again(id: string): void;
}
