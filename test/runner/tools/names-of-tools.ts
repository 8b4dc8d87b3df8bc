import ts from 'typescript';
import { TOOLS } from '../../../runner/tools/all.ts';

const NAMES: ReadonlySet<string> = new Set(TOOLS.map(({ name }) => name));

/** The lines of a source that decide by the name of a tool: it is a text of its own there, or a key. */
export function linesThatNameTools(file: string, source: string): string[] {
  const parsed = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
  const lines: string[] = [];
  const visit = (node: ts.Node): void => {
    const isText = ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node);
    const isKey = ts.isIdentifier(node) && node.text.startsWith('browser_');
    if ((isText || isKey) && NAMES.has(node.text)) {
      const { line } = parsed.getLineAndCharacterOfPosition(node.getStart());
      lines.push(`${file}:${line + 1} ${node.text}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(parsed);
  return lines;
}
