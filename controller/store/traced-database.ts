import { inSpan } from '../../process/tracing.ts';
import type { Database } from '../ports/database.ts';

/**
 * The database with a span for each statement of a traced request: the step's name, which stands in the source, never a
 * parameter. https://opentelemetry.io/docs/specs/semconv/database/postgresql/
 */
export const tracedDatabase = (database: Database): Database => ({
  ...database,
  query<Row extends object>(sql: string, parameters?: readonly unknown[]): Promise<Row[]> {
    const step = /\b(omicron\.[a-z_]+)\(/.exec(sql)?.[1];
    const operation = /^\s*([a-z]+)/i.exec(sql)?.[1]?.toUpperCase() ?? 'SELECT';
    const attributes = {
      'db.system.name': 'postgresql',
      ...(step === undefined ? { 'db.operation.name': operation } : { 'db.stored_procedure.name': step }),
    };
    return inSpan(step ?? operation, { kind: 'client', attributes }, () => database.query<Row>(sql, parameters));
  },
});
