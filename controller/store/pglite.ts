import { PGlite, parse, protocol } from '@electric-sql/pglite';
import type { Database } from '../ports/database.ts';

const { serialize } = protocol;

interface Statement {
  name: string;
  /** Type of its rows. */
  described: Awaited<ReturnType<PGlite['execProtocol']>>['messages'];
  /** A parameter, by its place, in the text form of its type. */
  toText: (value: unknown, index: number) => string | null;
}

/**
 * Share of the process's memory: PGlite's own 160 MB are more than all tables of one machine, make its memory grow past what it starts
 * with, and took 135 MB more of an idle process (375 MB against 240, measured). Pages that do not fit are read from the kernel's cache.
 */
const SHARED_BUFFERS = '16MB';

/**
 * Postgres in this process, in a folder (or in memory without one): the embedded default, one controller only. A
 * statement is parsed and planned once and runs in one pass; PGlite's own `query` parses it each time and takes six
 * passes, which is a quarter of what a lease's step takes.
 */
export async function pgliteDatabase(folder?: string): Promise<Database> {
  const lite = await PGlite.create({
    ...(folder === undefined ? {} : { dataDir: folder }),
    startParams: [...PGlite.defaultStartParams, '-c', `shared_buffers=${SHARED_BUFFERS}`],
  });
  // Otherwise Postgres plans some statements of a step at each call, which costs more than a better plan gains on few
  // rows.
  await lite.exec('set plan_cache_mode = force_generic_plan');
  /** Prepared statements by their text: the controller's own, a few dozen. */
  const prepared = new Map<string, Statement>();

  const prepare = async (text: string): Promise<Statement> => {
    const name = `statement_${prepared.size}`;
    const asked = [serialize.parse({ name, text }), serialize.describe({ type: 'S', name }), serialize.sync()];
    const { messages } = await lite.execProtocol(Buffer.concat(asked));
    const types = parse.parseDescribeStatementResults(messages);
    const serializers = types.map(type => lite.serializers[type] ?? String);
    const toText: Statement['toText'] = (value, index) =>
      value === null || value === undefined ? null : (serializers[index]?.(value) ?? null);
    const statement = { name, described: messages.filter(each => each.name === 'rowDescription'), toText };
    prepared.set(text, statement);
    return statement;
  };

  return {
    query: <Row extends object>(sql: string, parameters: readonly unknown[] = []) =>
      lite.runExclusive(async () => {
        const { name, described, toText } = prepared.get(sql) ?? (await prepare(sql));
        const values = parameters.map((value, index) => toText(value, index));
        const asked = [serialize.bind({ statement: name, values }), serialize.execute({}), serialize.sync()];
        const { messages } = await lite.execProtocol(Buffer.concat(asked));
        const [result] = parse.parseResults([...described, ...messages], lite.parsers);
        return (result?.rows ?? []) as Row[]; // the caller's statement says what its rows are
      }),
    async script(sql) {
      await lite.exec(sql);
    },
    close: () => lite.close(),
  };
}
