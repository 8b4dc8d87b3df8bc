import type { Tool } from '@modelcontextprotocol/sdk/types.js';
import type { Toolset } from '../../contract/assignment.ts';

/** The content of `contract/tool-list.json`: the list of each toolset, a tool a line. */
export function toolListsFile(lists: Readonly<Record<Toolset, readonly Tool[]>>): string {
  const texts = Object.entries(lists).map(([toolset, tools]) => {
    const lines = tools.map(tool => `    ${JSON.stringify(tool)}`);
    return `  ${JSON.stringify(toolset)}: [\n${lines.join(',\n')}\n  ]`;
  });
  return `{\n${texts.join(',\n')}\n}\n`;
}
