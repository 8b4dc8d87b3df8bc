import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js';
import type { Page } from 'playwright-core';
import * as z from 'zod';
import { failed } from './result.ts';

/** A tool of our own, run on the page that Playwright MCP's tools act on. */
export interface OwnTool {
  readonly tool: Tool;
  readonly seconds: number;
  /** `signal` ends when nobody waits any more. May reject. */
  run(page: Page, args: Record<string, unknown>, signal: AbortSignal): Promise<CallToolResult>;
}

/** For every own tool: the compatible clients send it. It is checked before the tool runs. */
const SESSION_ID = {
  sessionId: z.string().optional().describe('Id of this browser session; may be left out, another one is refused'),
};

/** Builds a tool from its zod schema, which is published as JSON schema and checked at each call. */
export function ownTool<S extends z.ZodRawShape>(spec: {
  name: string;
  description: string;
  seconds: number;
  input: S;
  run(page: Page, args: z.output<z.ZodObject<S>>, signal: AbortSignal): Promise<CallToolResult>;
}): OwnTool {
  const { name, description, seconds, run } = spec;
  const input = z.object(spec.input);
  return {
    tool: toolOf(name, description, spec.input),
    seconds,
    async run(page, args, signal) {
      const parsed = input.safeParse(args);
      return parsed.success ? run(page, parsed.data, signal) : invalid(parsed.error);
    },
  };
}

export const toolOf = (name: string, description: string, input: z.ZodRawShape): Tool => ({
  name,
  description,
  // A JSON schema of an object is what the protocol wants; zod's type is wider.
  inputSchema: z.toJSONSchema(z.object({ ...input, ...SESSION_ID }), { io: 'input' }) as Tool['inputSchema'],
});

export function invalid(error: z.ZodError): CallToolResult {
  const faults = error.issues.map(({ path, message }) => `${path.join('.') || 'arguments'}: ${message}`);
  return failed('invalid_arguments', faults.join('; '), 'tools/list has the schema of each tool.');
}
