import type { SpanOptions } from '../../process/span.ts';
import { inSpan } from '../../process/tracing.ts';
import type { Database } from '../ports/database.ts';

/** Texts of statements stand in the source: these are all of them, unless one is put together. */
const STATEMENTS_MAX = 1_000;

/**
 * The database with a span for each statement of a traced request: the step's name, which stands in the source, never a
 * parameter. https://opentelemetry.io/docs/specs/semconv/database/postgresql/
 */
export function tracedDatabase(database: Database): Database {
  const spans = new Map<string, { readonly name: string; readonly options: SpanOptions }>();
  const spanOf = (sql: string) => {
    const known = spans.get(sql);
    if (known !== undefined) return known;
    const span = describeStatement(sql);
    if (spans.size < STATEMENTS_MAX) spans.set(sql, span);
    return span;
  };
  return {
    ...database,
    query<Row extends object>(sql: string, parameters?: readonly unknown[]): Promise<Row[]> {
      const { name, options } = spanOf(sql);
      return inSpan(name, options, () => database.query<Row>(sql, parameters));
    },
  };
}

function describeStatement(sql: string): { name: string; options: SpanOptions } {
  const step = /\b(omicron\.[a-z_]+)\(/.exec(sql)?.[1];
  const operation = /^\s*([a-z]+)/i.exec(sql)?.[1]?.toUpperCase() ?? 'SELECT';
  const attributes = Object.freeze({
    'db.system.name': 'postgresql',
    ...(step === undefined ? { 'db.operation.name': operation } : { 'db.stored_procedure.name': step }),
  });
  return { name: step ?? operation, options: { kind: 'client', attributes } };
}
