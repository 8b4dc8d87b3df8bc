import type { SpanOptions } from '../../process/span.ts';
import { inSpan } from '../../process/tracing.ts';
import type { Database } from '../ports/database.ts';

/** Texts of statements stand in the source: these are all of them, unless one is put together. */
const STATEMENTS_MAX = 1_000;

interface Statement {
  /** Name of the span. */
  readonly name: string;
  /** The database function that it calls, without its schema; null: none. */
  readonly step: string | null;
  readonly options: SpanOptions;
}

/**
 * The database at `url`, of which the spans have the database's name, with a span for each statement of a traced request: the step's
 * name, which stands in the source, never a parameter. https://opentelemetry.io/docs/specs/semconv/database/postgresql/
 * `onStatement` is called for each, traced or not, once it was answered or has failed.
 */
export function tracedDatabase(
  database: Database,
  url: string,
  onStatement: (step: string | null, seconds: number) => void,
): Database {
  const namespace = /^postgres(?:ql)?:\/\/[^/?]*\/([\w-]+)/.exec(url)?.[1];
  const spans = new Map<string, Statement>();
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
      const { name, step, options } = spanOf(sql);
      const beganMs = performance.now();
      const answered = () => onStatement(step, (performance.now() - beganMs) / 1_000);
      return inSpan(name, options, () => database.query<Row>(sql, parameters).finally(answered));
    },
  };
}

function describeStatement(sql: string, namespace: string | undefined): Statement {
  const step = /\bomicron\.([a-z_]+)\(/.exec(sql)?.[1] ?? null;
  const procedure = step === null ? undefined : `omicron.${step}`;
  const word = /^\s*([a-z]+)/i.exec(sql)?.[1]?.toUpperCase() ?? 'SELECT';
  const operation = procedure !== undefined && word === 'WITH' ? 'SELECT' : word;
  const attributes = Object.freeze({
    'db.system.name': 'postgresql',
    ...(namespace === undefined ? {} : { 'db.namespace': namespace }),
    'db.operation.name': operation,
    ...(procedure === undefined ? {} : { 'db.stored_procedure.name': procedure }),
  });
  const name = procedure === undefined ? operation : `${operation} ${procedure}`;
  return { name, step, options: { kind: 'client', attributes } };
}
