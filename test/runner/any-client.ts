/** The address of a lease, as its answer has it. */
export interface McpAddress {
  readonly mcpUrl: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The texts of a result, and whether it is an error. */
export interface CallAnswer {
  readonly text: string;
  readonly isError: boolean;
}

/** As much of any MCP client as its tests use. */
export interface AnyClient {
  readonly version: string | undefined;
  tools(): Promise<string[]>;
  call(name: string, args: Record<string, unknown>, signal?: AbortSignal): Promise<CallAnswer>;
  /** Goes away in the middle of what it does: its connections are closed, and nothing is said. */
  vanish(): Promise<void>;
  close(): Promise<void>;
}
