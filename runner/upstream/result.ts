import type { CallToolResult } from '@modelcontextprotocol/server';

/**
 * The result without the files that Playwright MCP names: they are on the runner's disk, where no agent reads them. Only its own
 * lines are touched, as it writes them.
 */
export const withoutFiles = (result: CallToolResult): CallToolResult => ({
  ...result,
  content: result.content.map(part => (part.type === 'text' ? { ...part, text: unnamed(part.text) } : part)),
});

const unnamed = (text: string): string =>
  text
    .replace(/^(### Events\n(?:- .*\n)*?)- New console entries: \S+\.log#L\d+(?:-L\d+)?(?:\n|$)/m, '$1')
    // Downloads are noted for all tools alike.
    .replace(/^- (?:Downloading|Downloaded) file .*(?:\n|$)/gm, '')
    .replace(/^### Events\n(?=### |$(?![\s\S]))/m, '')
    .replace(/^- \[(Screenshot of .*)\]\([^\])\n]*\)$/m, '- $1')
    .replace(/^(\/\/ Screenshot .*) and save it as .*$/m, '$1')
    .replace(/^ {2}path: '.*\.(?:png|jpe?g)',\n/m, '');
