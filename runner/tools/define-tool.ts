import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js';
import type { Page } from 'playwright-core';
import * as z from 'zod';
import type { UserAction, userActionRequest } from '../../contract/user-action.ts';
import type { Documents } from '../secrecy/documents.ts';
import type { Pictures } from '../secrecy/pictures.ts';
import type { Settled } from '../settle/settle.ts';
import type { Credentials } from './credentials.ts';
import type { Conceal } from './cut.ts';
import { failed } from './result.ts';

export type AskUser = (request: z.input<typeof userActionRequest>, signal: AbortSignal) => Promise<UserAction>;

/** What the custom tools of one lease share. */
export interface ToolLease {
  readonly sessionId: string;
  readonly credentials: Credentials;
  readonly documents: Documents;
  /** Every picture that leaves goes through `take`. */
  readonly pictures: Pictures;
  readonly conceal: Conceal;
  readonly askUser: AskUser;
  /** Records an attempt to log in: the domain and its outcome, nothing else. */
  readonly audit: (domain: string, status: string) => void;
}

export interface ToolContext {
  readonly lease: ToolLease;
  /** Aborts when the call is cancelled or its time is over. */
  readonly signal: AbortSignal;
}

/** With the page that Playwright MCP's tools act on. */
export interface PageContext extends ToolContext {
  readonly page: Page;
  readonly settled: Settled;
}

/** A tool that is defined here, not by Playwright MCP. The same for every lease. */
export interface CustomTool<Context extends ToolContext = PageContext> {
  readonly tool: Tool;
  /** The longest that one call may take. */
  readonly seconds: number;
  /** Checks the arguments first. May reject. */
  run(args: Record<string, unknown>, context: Context): Promise<CallToolResult>;
}

interface Definition<Input extends z.ZodRawShape, Context extends ToolContext> {
  readonly name: string;
  readonly description: string;
  readonly seconds: number;
  readonly input: Input;
  readonly run: (args: z.output<z.ZodObject<Input>>, context: Context) => Promise<CallToolResult>;
}

/** Compatible clients send it with every tool; the lease checks it before the tool runs. */
const SESSION_ID = {
  sessionId: z.string().optional().describe('Id of this browser session; may be left out, another one is refused'),
};

/** The zod schema of `input` is published as JSON schema and checked at each call. */
export function defineTool<Input extends z.ZodRawShape, Context extends ToolContext = PageContext>(
  definition: Definition<Input, Context>,
): CustomTool<Context> {
  const { name, description, seconds, run } = definition;
  const input = z.object(definition.input);
  return {
    seconds,
    tool: {
      name,
      description,
      // A JSON schema of an object is what the protocol wants; zod's type is wider.
      inputSchema: z.toJSONSchema(input.extend(SESSION_ID), { io: 'input' }) as Tool['inputSchema'],
    },
    async run(args, context) {
      const parsed = input.safeParse(args);
      return parsed.success ? run(parsed.data, context) : invalidArguments(parsed.error);
    },
  };
}

function invalidArguments(error: z.ZodError): CallToolResult {
  const issues = error.issues.map(({ path, message }) => `${path.join('.') || 'arguments'}: ${message}`);
  return failed('invalid_arguments', issues.join('; '), 'tools/list has the schema of each tool.');
}
