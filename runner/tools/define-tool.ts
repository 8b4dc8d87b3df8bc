import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import type { Page } from 'playwright-core';
import * as z from 'zod';
import type { AskedUserAction, userActionRequest } from '../../contract/user-action.ts';
import type { Conceal } from '../budget/cut.ts';
import type { LeaseFiles } from '../files/session-files.ts';
import type { BeforeFill } from '../secrecy/before-fill.ts';
import type { Documents } from '../secrecy/documents.ts';
import type { Pictures } from '../secrecy/pictures.ts';
import type { Settler } from '../settle/settle.ts';
import type { Credentials } from './credentials.ts';
import type { ProfileAccess } from './profile-access.ts';
import { invalidArguments } from './result.ts';

export type AskUser = (request: z.input<typeof userActionRequest>, signal: AbortSignal) => Promise<AskedUserAction>;

/** What the custom tools of one lease share. */
export interface ToolLease {
  readonly sessionId: string;
  readonly credentials: Credentials;
  readonly documents: Documents;
  readonly before: BeforeFill;
  /** Every picture that leaves goes through `take`. */
  readonly pictures: Pictures;
  readonly conceal: Conceal;
  readonly files: LeaseFiles;
  readonly profiles: ProfileAccess;
  readonly askUser: AskUser;
  /** Ids of user actions whose answer no call has brought yet, by reason and time-out. */
  readonly openActions: Map<string, string>;
  /** Records an attempt to log in: the domain and its outcome, nothing else. */
  readonly audit: (domain: string, status: string) => void;
}

export interface ToolContext {
  readonly lease: ToolLease;
  /** Aborts when the call is cancelled or its time is over. */
  readonly signal: AbortSignal;
}

/** With the page that Playwright MCP's tools act on. */
export interface PageContext extends ToolContext, Pick<Settler, 'settled' | 'challenge'> {
  readonly page: Page;
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
  /** For people. */
  readonly title: string;
  /** What it does to the page and its site. */
  readonly does: 'reads' | 'moves' | 'changes';
  readonly description: string;
  readonly seconds: number;
  readonly input: Input;
  /** What its result may have beside `success`. */
  readonly output: z.ZodRawShape;
  /** A compatible tool: its clients may send `sessionId`, and its results have `url` and `title` too. */
  readonly compatible?: true;
  /** Other names for arguments: taken, but not listed. */
  readonly aliases?: Readonly<Record<string, string & keyof Input>>;
  readonly run: (args: z.output<z.ZodObject<Input>>, context: Context) => Promise<CallToolResult>;
}

/** Clients of the compatible tools send it; the lease checks it before any tool runs. */
const SESSION_ID = { sessionId: z.string().optional() };
/** What results of the compatible tools say of the page. */
const PAGE_OUTPUT = { url: z.string().optional(), title: z.string().optional() };

/** The zod schema of `input` is published as JSON schema and checked at each call. */
export function defineTool<Input extends z.ZodRawShape, Context extends ToolContext = PageContext>(
  definition: Definition<Input, Context>,
): CustomTool<Context> {
  const { name, title, does, description, seconds, compatible, aliases = {}, run } = definition;
  const input = z.object(definition.input);
  const inputSchema = withoutLimits(z.toJSONSchema(compatible ? input.extend(SESSION_ID) : input, { io: 'input' }));
  return {
    seconds,
    tool: {
      name,
      title,
      description,
      // A JSON schema of an object is what the protocol wants; zod's type is wider.
      inputSchema: inputSchema as Tool['inputSchema'],
      outputSchema: outputSchemaOf({ ...(compatible && PAGE_OUTPUT), ...definition.output }),
      annotations: does === 'reads' ? { readOnlyHint: true } : { destructiveHint: does === 'changes' },
    },
    async run(args, context) {
      const named = Object.entries(args).map(([given, value]) => [
        Object.hasOwn(aliases, given) ? aliases[given] : given,
        value,
      ]);
      const parsed = input.safeParse(Object.fromEntries(named));
      return parsed.success ? run(parsed.data, context) : invalidArguments(issuesOf(parsed.error));
    },
  };
}

const outputSchemaOf = (output: z.ZodRawShape): NonNullable<Tool['outputSchema']> =>
  // A JSON schema of an object is what the protocol wants; zod's type is wider. `input`: more fields may come.
  withoutLimits(z.toJSONSchema(z.object({ success: z.boolean(), ...output }), { io: 'input' })) as NonNullable<
    Tool['outputSchema']
  >;

/** What an agent does not need to choose its arguments; they are checked all the same. */
const NOT_LISTED = new Set(['$schema', 'minLength', 'maxLength', 'minimum', 'maximum']);
const withoutLimits = (schema: object): object =>
  JSON.parse(JSON.stringify(schema, (key, value) => (NOT_LISTED.has(key) ? undefined : value)));

const issuesOf = ({ issues }: z.ZodError): string =>
  issues.map(({ path, message }) => `${path.join('.') || 'arguments'}: ${message}`).join('; ');
