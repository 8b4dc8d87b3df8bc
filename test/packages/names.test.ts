import ts from 'typescript';
import { expect, it } from 'vitest';
import { filesOf, ROOMS } from '../docs/files.ts';

const LINES_MAX = 100;

const sources: readonly ts.SourceFile[] = (
  await filesOf(
    ROOMS.filter(room => room !== 'test'),
    /\.tsx?$/,
  )
).map(([file, text]) => ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true));

const isExported = (statement: ts.Statement): boolean =>
  ts.canHaveModifiers(statement) &&
  (ts.getModifiers(statement) ?? []).some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);

/** The names that a file exports itself, once each: a schema and its type may share one. */
function exportsOf(source: ts.SourceFile): ReadonlySet<string> {
  const names = new Set<string>();
  for (const statement of source.statements.filter(isExported)) {
    const declared = ts.isVariableStatement(statement) ? statement.declarationList.declarations : [statement];
    for (const each of declared) {
      const { name } = each as ts.Node & { name?: ts.Node }; // every declaration that can be exported has one
      if (name !== undefined && ts.isIdentifier(name)) names.add(name.text);
    }
  }
  return names;
}

function nodesOf(node: ts.Node): ts.Node[] {
  const nodes = [node];
  ts.forEachChild(node, child => {
    nodes.push(...nodesOf(child));
  });
  return nodes;
}

const placeOf = (node: ts.Node): string => {
  const source = node.getSourceFile();
  return `${source.fileName}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}`;
};

function linesOf(node: ts.Node): number {
  const source = node.getSourceFile();
  const [start, end] = [node.getStart(), node.end].map(at => source.getLineAndCharacterOfPosition(at).line);
  return (end ?? 0) - (start ?? 0) + 1;
}

it('one exported name has one meaning', () => {
  const files = new Map<string, string[]>();
  for (const source of sources)
    for (const name of exportsOf(source)) files.set(name, [...(files.get(name) ?? []), source.fileName]);
  const shared = [...files]
    .filter(([, where]) => where.length > 1)
    .map(([name, where]) => `${name}: ${where.join(', ')}`);
  expect(files.size).toBeGreaterThan(1_000);
  expect(shared).toEqual([]);
});

it('a function is 100 lines at most', () => {
  const long = sources
    .flatMap(nodesOf)
    .filter(node => ts.isFunctionLike(node) && linesOf(node) > LINES_MAX)
    .map(node => `${placeOf(node)}: ${linesOf(node)} lines`);
  expect(long).toEqual([]);
});

it('no literal is spread into the object that could have its fields', () => {
  const spreads = sources
    .flatMap(nodesOf)
    .filter(node => ts.isSpreadAssignment(node) && ts.isObjectLiteralExpression(node.expression))
    .map(placeOf);
  expect(spreads).toEqual([]);
});
