import type { CallToolResult } from '@modelcontextprotocol/server';

/** The result with a snapshot's text. */
export const addSnapshot = (result: CallToolResult, snapshot: string): CallToolResult =>
  snapshot === '' ? result : { ...result, content: [...withoutPage(result.content), { type: 'text', text: snapshot }] };

/** The snapshot reports page and tabs; the code that Playwright MCP ran is for developers. */
const withoutPage = (content: CallToolResult['content']): CallToolResult['content'] =>
  content
    .map(part => (part.type === 'text' ? { ...part, text: part.text.replace(SECTIONS, '').trim() } : part))
    .filter(part => part.type !== 'text' || part.text !== '');

const SECTIONS = /^### (?:Page|Open tabs|Ran Playwright code|Snapshot)\n(?:(?!### ).*\n?)*/gm;
