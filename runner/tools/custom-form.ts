import type { CallToolResult, Tool as ListedTool } from '@modelcontextprotocol/server';
import type { Page } from 'playwright-core';
import * as z from 'zod';
import type { Clock } from '../../time/clock.ts';
import { invalidArguments } from '../results/result.ts';
import type { Settler } from '../settle/settle.ts';
import type { Elicitation } from './elicitation.ts';
import type { AnyForm } from './form.ts';
import type { ToolLease } from './tool-lease.ts';

/** A call of a tool that does not use the page. */
export interface BesideContext {
  readonly lease: ToolLease;
  /** Aborts when the call is cancelled or its time is over. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Undefined: the client cannot send its person to an address. */
  readonly elicitation?: Elicitation | undefined;
}

/** A call of a tool that uses the page on which Playwright MCP's tools act. */
export interface PageContext extends Pick<BesideContext, 'lease' | 'signal'>, Pick<Settler, 'settled' | 'challenge'> {
  readonly page: Page;
}

/** The form of a tool that is defined here, not by Playwright MCP. */
interface Described extends AnyForm {
  readonly title: string;
  readonly description: string;
  readonly inputSchema: ListedTool['inputSchema'];
  readonly outputSchema: NonNullable<ListedTool['outputSchema']>;
  /** The text of its answer may have its picture as well, where the lease or the call wants that. */
  readonly imageInText?: true;
  /** Arguments by which, in the toolset `both`, a call is of this form: the other form accepts none of them. */
  readonly distinctive?: readonly string[];
}

/** Uses the page: its calls run one after the other. */
export interface PageForm extends Described {
  readonly usesPage: true;
  /** Checks the arguments first. May reject. */
  run(args: Record<string, unknown>, context: PageContext): Promise<CallToolResult>;
  /** The arguments that a policy decides by, where it must not trust those of the agent. */
  readonly policyArguments?: (args: Record<string, unknown>, page: Page | undefined) => Record<string, unknown>;
}

/** Does not use the page: its calls wait for no other. */
export interface BesideForm extends Described {
  readonly usesPage: false;
  /** Checks the arguments first. May reject. */
  run(args: Record<string, unknown>, context: BesideContext): Promise<CallToolResult>;
}

export type CustomForm = PageForm | BesideForm;

interface Definition<Input extends z.ZodRawShape, Context> extends AnyForm {
  /** For people. */
  readonly title: string;
  readonly description: string;
  readonly input: Input;
  /** Fields of its result beside `success`. */
  readonly output: z.ZodRawShape;
  /** A compatible tool: its clients may send `sessionId`, and its results have `url` and `title` too. */
  readonly compatible?: true;
  /** Other names for arguments: accepted, but not listed. */
  readonly aliases?: Readonly<Record<string, string & keyof Input>>;
  readonly imageInText?: true;
  readonly distinctive?: readonly (string & keyof Input)[];
  readonly run: (args: z.output<z.ZodObject<Input>>, context: Context) => Promise<CallToolResult>;
}

export const pageForm = <Input extends z.ZodRawShape>(
  definition: Definition<Input, PageContext> & Pick<PageForm, 'policyArguments'>,
): PageForm => ({
  ...describe(definition),
  usesPage: true,
  ...(definition.policyArguments && { policyArguments: definition.policyArguments }),
});

export const besideForm = <Input extends z.ZodRawShape>(
  definition: Omit<Definition<Input, BesideContext>, 'settles' | 'snapshotAfter'>,
): BesideForm => ({
  ...describe({ ...definition, settles: 'nothing', snapshotAfter: false }),
  usesPage: false,
});

/** Clients of the compatible tools send it; the lease checks it before any tool runs. */
const SESSION_ID = { sessionId: z.string().optional() };
/** Results of the compatible tools name the page. */
const PAGE_OUTPUT = { url: z.string().optional(), title: z.string().optional() };

/** The zod schema of `input` is published as JSON schema and checked at each call. */
function describe<Input extends z.ZodRawShape, Context>(definition: Definition<Input, Context>) {
  const { title, description, sets, settles, snapshotAfter, compatible, aliases = {}, run } = definition;
  const { imageInText, distinctive } = definition;
  const input = z.object(definition.input);
  const inputSchema = withToldDefaults(
    withoutLimits(z.toJSONSchema(compatible ? input.extend(SESSION_ID) : input, { io: 'input' })),
  );
  return {
    title,
    description,
    sets,
    settles,
    snapshotAfter,
    ...(imageInText && { imageInText }),
    ...(distinctive && { distinctive }),
    // A JSON schema of an object, as the protocol wants it; zod's type is wider.
    inputSchema: inputSchema as ListedTool['inputSchema'],
    outputSchema: outputSchemaOf({ ...(compatible && PAGE_OUTPUT), ...definition.output }),
    async run(args: Record<string, unknown>, context: Context): Promise<CallToolResult> {
      const named = Object.entries(args).map(([given, value]) => [
        Object.hasOwn(aliases, given) ? aliases[given] : given,
        value,
      ]);
      const parsed = input.safeParse(Object.fromEntries(named));
      return parsed.success ? run(parsed.data, context) : invalidArguments(issuesOf(parsed.error));
    },
  };
}

const outputSchemaOf = (output: z.ZodRawShape): NonNullable<ListedTool['outputSchema']> =>
  // A JSON schema of an object, as the protocol wants it; zod's type is wider. `input`: more fields may come.
  withoutLimits(z.toJSONSchema(z.object({ success: z.boolean(), ...output }), { io: 'input' })) as NonNullable<
    ListedTool['outputSchema']
  >;

/** An agent does not need these to choose its arguments; they are checked all the same. */
const NOT_LISTED = new Set(['$schema', 'minLength', 'maxLength', 'minItems', 'maxItems', 'minimum', 'maximum']);
const withoutLimits = (schema: object): object =>
  JSON.parse(JSON.stringify(schema, (key, value) => (NOT_LISTED.has(key) ? undefined : value)));

/** Strict modes of model APIs refuse the keyword `default`: a default that is not plain from the type stands in the description. */
const withToldDefaults = (schema: object): object =>
  JSON.parse(JSON.stringify(schema), (_key, each: unknown) => {
    if (typeof each !== 'object' || each === null || !('type' in each) || !('default' in each)) return each;
    const { default: value, ...rest } = each;
    const description = 'description' in each ? String(each.description) : '';
    if (value === false || value === 0 || /default/i.test(description)) return rest;
    return { ...rest, description: description === '' ? `Default ${value}` : `${description} (default ${value})` };
  });

const issuesOf = ({ issues }: z.ZodError): string =>
  issues.map(({ path, message }) => `${path.join('.') || 'arguments'}: ${message}`).join('; ');
