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

interface ToolFace<S extends z.ZodRawShape> {
  readonly name: string;
  readonly description: string;
  readonly seconds: number;
  readonly input: S;
}

type ToolWork<S extends z.ZodRawShape> = (
  page: Page,
  args: z.output<z.ZodObject<S>>,
  signal: AbortSignal,
) => Promise<CallToolResult>;

/**
 * What agents see of a tool, made once from its zod schema, which is published as JSON schema and checked at each call;
 * the work behind it may be each lease's own.
 */
export function toolFace<S extends z.ZodRawShape>(face: ToolFace<S>): (work: ToolWork<S>) => OwnTool {
  const { name, description, seconds } = face;
  const input = z.object(face.input);
  const tool = toolOf(name, description, face.input);
  return work => ({
    tool,
    seconds,
    async run(page, args, signal) {
      const parsed = input.safeParse(args);
      return parsed.success ? work(page, parsed.data, signal) : invalid(parsed.error);
    },
  });
}

/** A tool whose work is the same for every lease. */
export const ownTool = <S extends z.ZodRawShape>({ run, ...face }: ToolFace<S> & { run: ToolWork<S> }): OwnTool =>
  toolFace(face)(run);

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
