import type { Tool, ToolResult } from './mcp.ts';

/** The profile that an agent has switched to. */
export interface ChosenProfile {
  readonly profile: string | null;
  readonly profileMode?: 'read-write' | 'read-only';
}

/** A browser that an MCP client may connect to, until `release` or `end`. `await using` releases it. */
export interface LeasedBrowser extends AsyncDisposable {
  /** Playwright MCP over Streamable HTTP. */
  readonly mcpUrl: string;
  /** Sent with every request to `mcpUrl`; they hold the lease's bearer token. */
  readonly headers: Readonly<Record<string, string>>;
  /** Aborts when the lease is lost, released or ended, with the error as its reason. */
  readonly signal: AbortSignal;
  /** Brings back a browser whose session was hibernated; false: the last heartbeat knew of no hibernation. */
  restore(): Promise<boolean>;
  /** Makes a call that replaces the lease by one with another profile where it succeeds, and goes on with that one. */
  followSwitch<T>(call: () => Promise<T>, chosen: (answer: T) => ChosenProfile | undefined): Promise<T>;
  /** Connects to the browser and lists its tools. */
  connect(): Promise<ConnectedBrowser>;
  /** Renews the lease now; while it is held it also renews by itself. */
  heartbeat(): Promise<void>;
  /**
   * Lets the lease go and leaves the browser as it is: the lease ends when it is unused for its time to live, and the next
   * request of the conversation finds its tabs. Until then it gives way where its user, or the deployment, has no other place.
   * Repeating it changes nothing; a controller that cannot be reached is no error.
   */
  release(): Promise<void>;
  /** Ends the lease, also after `release`: its browser closes and its recordings are stored. Repeating it changes nothing. */
  end(): Promise<void>;
}

/** A leased browser and its tools. `await using` releases its lease. */
export interface ConnectedBrowser<Held extends LeasedBrowser = LeasedBrowser> extends AsyncDisposable {
  readonly lease: Held;
  readonly tools: readonly Tool[];
  /** How to log in and how to treat web content, for the agent's prompt. */
  readonly instructions: string;
  /**
   * Calls a tool. A tool that fails has `isError`. Throws OmicronError: why the lease was lost, `browser_unreachable`, ...
   * A browser that was hibernated is brought back for the call. There is no limit of time but the tools' own; `signal` cancels the call.
   */
  callTool(name: string, args?: Record<string, unknown>, options?: { signal?: AbortSignal }): Promise<ToolResult>;
}
