import type { SpanOptions } from '../../process/span.ts';
import { inSpan } from '../../process/tracing.ts';
import type { Database } from '../ports/database.ts';

/** Texts of statements stand in the source: these are all of them, unless one is put together. */
const STATEMENTS_MAX = 1_000;

/**
 * The database at `url`, of which the spans have the database's name, with a span for each statement of a traced request: the step's
 * name, which stands in the source, never a parameter. https://opentelemetry.io/docs/specs/semconv/database/postgresql/
 */
export function tracedDatabase(database: Database, url: string): Database {
  const namespace = /^postgres(?:ql)?:\/\/[^/?]*\/([\w-]+)/.exec(url)?.[1];
  const spans = new Map<string, { readonly name: string; readonly options: SpanOptions }>();
  const spanOf = (sql: string) => {
    const known = spans.get(sql);
    if (known !== undefined) return known;
    const span = describeStatement(sql, namespace);
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

function describeStatement(sql: string, namespace: string | undefined): { name: string; options: SpanOptions } {
  const step = /\b(omicron\.[a-z_]+)\(/.exec(sql)?.[1];
  const word = /^\s*([a-z]+)/i.exec(sql)?.[1]?.toUpperCase() ?? 'SELECT';
  const operation = step !== undefined && word === 'WITH' ? 'SELECT' : word;
  const attributes = Object.freeze({
    'db.system.name': 'postgresql',
    ...(namespace === undefined ? {} : { 'db.namespace': namespace }),
    'db.operation.name': operation,
    ...(step === undefined ? {} : { 'db.stored_procedure.name': step }),
  });
  return { name: step === undefined ? operation : `${operation} ${step}`, options: { kind: 'client', attributes } };
}
