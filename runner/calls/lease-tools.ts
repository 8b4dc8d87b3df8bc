import type { Tool as ListedTool } from '@modelcontextprotocol/server';
import { SHOW_TOOL } from '../../contract/app-names.ts';
import type { Toolset } from '../../contract/assignment.ts';
import { TOOLS } from '../tools/all.ts';
import type { CustomForm } from '../tools/custom-form.ts';
import { annotationsOf, type Form, type ToolDefinition } from '../tools/define-tool.ts';
import { describeTool } from '../upstream/describe-tool.ts';
import type { ToolPolicy } from './tool-policy.ts';

/** One tool of a lease. */
export interface LeaseTool {
  readonly definition: ToolDefinition;
  /** As `tools/list` shows it. */
  readonly listed: ListedTool;
  /** False: its calls wait for no other. */
  readonly usesPage: boolean;
  /** The form that a call with these arguments is of. */
  formOf(args: Readonly<Record<string, unknown>>): Form;
}

/**
 * The tools of a lease by name. A name that both sets have is one tool in `both`: Playwright MCP's, which accepts the arguments of the
 * compatible one too. `upstream`: the tools that Playwright MCP has. `docs/tools.md` has the table.
 */
export function leaseTools(toolset: Toolset, upstream: readonly ListedTool[]): ReadonlyMap<string, LeaseTool> {
  const custom = TOOLS.flatMap(tool => (tool.custom?.sets.includes(toolset) ? [customTool(tool, tool.custom)] : []));
  const others = upstream.flatMap(each => {
    const tool = TOOLS.find(({ name }) => name === each.name);
    return tool?.playwright?.sets.includes(toolset) ? [playwrightTool(tool, each, toolset)] : [];
  });
  return new Map([...custom, ...others].map(tool => [tool.definition.name, tool]));
}

/** The tools that the policy lets agents see. */
export const listTools = (available: ReadonlyMap<string, LeaseTool>, policy: Pick<ToolPolicy, 'lists'>): ListedTool[] =>
  [...available.values()].map(({ listed }) => listed).filter(({ name }) => name !== SHOW_TOOL && policy.lists(name));

const customTool = (definition: ToolDefinition, form: CustomForm): LeaseTool => ({
  definition,
  listed: describeCustom(definition, form),
  usesPage: form.usesPage,
  formOf: () => form,
});

const describeCustom = ({ name, effect }: ToolDefinition, form: CustomForm): ListedTool => ({
  name,
  title: form.title,
  description: form.description,
  inputSchema: form.inputSchema,
  outputSchema: form.outputSchema,
  annotations: annotationsOf(effect),
});

/** A tool of Playwright MCP; with the arguments by which a call is of the other form, where the toolset has both. */
function playwrightTool(definition: ToolDefinition, upstream: ListedTool, toolset: Toolset): LeaseTool {
  const { playwright, custom, effect } = definition;
  if (playwright === undefined) throw new Error(`${definition.name} has no form of Playwright MCP's.`);
  const listed = describeTool(upstream, playwright, annotationsOf(effect));
  if (custom === undefined || !custom.sets.includes(toolset))
    return { definition, listed, usesPage: true, formOf: () => playwright };
  const distinctive = custom.distinctive ?? [];
  return {
    definition,
    listed: withArguments(listed, custom, distinctive),
    usesPage: true,
    formOf: args => (distinctive.some(name => args[name] !== undefined) ? custom : playwright),
  };
}

/** Lists these arguments of the other form too; required are those that both forms require. */
function withArguments(listed: ListedTool, { inputSchema }: CustomForm, names: readonly string[]): ListedTool {
  const { properties, required = [], ...schema } = listed.inputSchema;
  const added = Object.entries(inputSchema.properties ?? {}).filter(([name]) => names.includes(name));
  const needed = required.filter(name => inputSchema.required?.includes(name));
  return {
    ...listed,
    inputSchema: {
      ...schema,
      properties: { ...properties, ...Object.fromEntries(added) },
      ...(needed.length > 0 ? { required: needed } : {}),
    },
  };
}
