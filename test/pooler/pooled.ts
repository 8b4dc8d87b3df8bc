import { afterAll, inject, it } from 'vitest';
import { missesPgbouncer, transactionPooler } from '../pgbouncer.ts';
import { reachDatabases } from '../postgres.ts';

/** Fewer than the controllers of a test open, and as many as its own transactions hold open at once. */
const SERVER_CONNECTIONS = 8;

/**
 * Runs a suite with all of its databases behind a pooler in transaction mode, as Supabase's: a statement may go over another connection of the server
 * than the one before it, and nothing may be left on one.
 */
export async function runPooled(suite: () => Promise<unknown>): Promise<void> {
  if (missesPgbouncer('test/pooler')) {
    it.skip('through a transaction pooler: pgbouncer is not installed');
    return;
  }
  const pooler = await transactionPooler(`${inject('postgresUrl')}/postgres`, SERVER_CONNECTIONS);
  afterAll(() => pooler[Symbol.asyncDispose]());
  const { host } = new URL(pooler.url);
  reachDatabases(url => Object.assign(new URL(url), { host }).href);
  await suite();
}
