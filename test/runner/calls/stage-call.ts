import type { CallToolResult } from '@modelcontextprotocol/client';
import type { LeaseTool } from '../../../runner/calls/lease-tools.ts';
import type { Admitted, Call } from '../../../runner/calls/stage.ts';
import { TOOLS } from '../../../runner/tools/all.ts';
import { besideForm } from '../../../runner/tools/custom-form.ts';
import { defineTool, type ToolDefinition } from '../../../runner/tools/define-tool.ts';
import { askPlaywright } from '../../../runner/tools/playwright-form.ts';

/** A tool of the house by its name. */
export function toolNamed(name: string): LeaseTool {
  const definition = TOOLS.find(tool => tool.name === name);
  if (definition === undefined) throw new Error(`There is no tool ${name}.`);
  return leaseTool(definition);
}

export function leaseTool(definition: ToolDefinition): LeaseTool {
  const form = definition.playwright ?? definition.custom;
  return {
    definition,
    usesPage: !('usesPage' in form) || form.usesPage,
    formOf: () => form,
    listed: { name: definition.name, inputSchema: { type: 'object' } },
  };
}

/** A tool that does nothing with the page. */
export const besideTool = (run: () => Promise<CallToolResult>): LeaseTool =>
  leaseTool({
    name: 'beside',
    seconds: 1,
    effect: 'reads',
    whileTainted: 'exempt',
    shorter: null,
    custom: besideForm({ sets: [], title: 'Beside', description: 'Beside', input: {}, output: {}, run }),
  });

/** A tool that acts on the page, with these facts. */
export const actingTool = (facts: Partial<Omit<ToolDefinition, 'custom' | 'playwright'>>): LeaseTool =>
  leaseTool(
    defineTool({
      name: 'acting',
      seconds: 1,
      effect: 'acts',
      whileTainted: 'open',
      shorter: null,
      ...facts,
      playwright: {
        ...{ sets: [], title: 'Acting', description: 'Acting', args: {}, unlisted: [], settles: 'nothing' },
        snapshotAfter: false,
        run: askPlaywright,
      },
    }),
  );

interface CallParts extends Partial<Admitted> {
  readonly given?: Record<string, unknown>;
  readonly signal?: AbortSignal;
}

/** A call as it is below `admit`, of a tool that clicks unless set. */
export function stageCall({ tool = toolNamed('browser_click'), args = {}, view, given, signal }: CallParts = {}): Call {
  return {
    name: tool.definition.name,
    given: given ?? args,
    caller: {
      traceparent: undefined,
      protocolVersion: undefined,
      showsApps: false,
      elicitation: undefined,
      signal: signal ?? new AbortController().signal,
    },
    admitted: { tool, args, view: view ?? { snapshot: 'changes', tokensMax: 4_000 } },
  };
}

export const text = (said: string): CallToolResult => ({ content: [{ type: 'text', text: said }] });
export const answering = (result: CallToolResult) => async () => result;
/** The stages below must not be reached. */
export const unreached = async (): Promise<CallToolResult> => {
  throw new Error('A stage below ran.');
};
/** The code of a refusal. */
export const codeOf = (result: CallToolResult): unknown => result._meta?.['omicron.dev/code'];
