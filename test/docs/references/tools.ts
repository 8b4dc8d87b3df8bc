import type { Tool } from '@modelcontextprotocol/sdk/types.js';
import { TOOLSETS } from '../../../contract/assignment.ts';
import TOOL_LISTS from '../../../contract/tool-list.json' with { type: 'json' };
import { code, page, table } from './table.ts';

interface Property {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly items?: Property;
  readonly anyOf?: readonly Property[];
}

const LISTS = TOOL_LISTS as unknown as Record<(typeof TOOLSETS)[number], readonly Tool[]>;

function typeOf({ type, items, anyOf, enum: words }: Property): string {
  if (words) return words.map(word => code(String(word))).join(', ');
  if (anyOf) return [...new Set(anyOf.map(typeOf))].join(' or ');
  if (type === 'array') return `array of ${items ? typeOf(items) : 'any'}`;
  return [type ?? 'any'].flat().join(' or ');
}

function argumentRows({ inputSchema }: Tool): string[][] {
  const required = new Set(inputSchema.required ?? []);
  return Object.entries((inputSchema.properties ?? {}) as Record<string, Property>).map(([name, property]) => [
    code(name),
    typeOf(property),
    required.has(name) ? '**required**' : property.default === undefined ? '' : code(JSON.stringify(property.default)),
    property.description ?? '',
  ]);
}

const hintsOf = ({ annotations }: Tool): string =>
  annotations?.readOnlyHint ? 'Reads only.' : annotations?.destructiveHint === false ? 'Changes nothing for good.' : '';

/** The tool as its toolsets list it: one form, or one for each group of toolsets that differ. */
function formsOf(name: string): [toolsets: string[], tool: Tool][] {
  const forms = new Map<string, [string[], Tool]>();
  for (const toolset of TOOLSETS) {
    const tool = LISTS[toolset].find(each => each.name === name);
    if (tool === undefined) continue;
    const key = JSON.stringify(tool);
    const form = forms.get(key) ?? [[], tool];
    form[0].push(toolset);
    forms.set(key, form);
  }
  return [...forms.values()];
}

function section(name: string): string[] {
  const forms = formsOf(name).flatMap(([toolsets, tool]) => {
    const rows = argumentRows(tool);
    return [
      [`Toolsets: ${toolsets.map(code).join(', ')}.`, tool.description ? `${tool.description}.` : '', hintsOf(tool)]
        .filter(Boolean)
        .join(' '),
      rows.length === 0 ? 'No arguments.' : table(['argument', 'type', 'default', 'meaning'], rows),
    ];
  });
  return [code(name), ...forms];
}

/** docs/reference/tools.md. */
export function toolsPage(): string {
  const names = [...new Set(TOOLSETS.flatMap(toolset => LISTS[toolset].map(({ name }) => name)))].toSorted();
  return page(
    '`contract/tool-list.json`, which `npm run tools` writes',
    'Tools and their arguments',
    `The answer of \`tools/list\`, by name: ${names.length} tools. [Tools](../tools.md) explains results, snapshots, logins and refusals; [error codes](errors.md#tools) lists what a failed call answers.`,
    names.map(section),
  );
}
