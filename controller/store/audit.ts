import * as z from 'zod';
import type { AuditEntry } from '../../contract/audit.ts';
import type { Database } from '../ports/database.ts';
import { callFunction } from './call.ts';

/** A file of the audit, as it is to be in the bucket. */
export interface AuditFile {
  readonly sequence: number;
  readonly sha256: string;
  readonly body: string;
}

/** Entries of the audit, and the chain of files that they are moved into. */
export interface Audit {
  /** From here on entries are written, or none are. */
  activate(active: boolean): Promise<void>;
  write(entry: AuditEntry): Promise<void>;
  /**
   * The file that is to be written now, held for `holdSeconds`; undefined: there is none. One that was taken and not `written` comes again, byte
   * for byte. Null: another replica is at it.
   */
  take(
    environment: string,
    bounds: { everySeconds: number; entriesMax: number; holdSeconds: number },
  ): Promise<{ waitsSeconds: number; file: AuditFile | undefined } | null>;
  /** The file is in the bucket; repeating it changes nothing. */
  written(sequence: number): Promise<void>;
}

const taken = z
  .object({
    waits_seconds: z.number(),
    file: z.object({ sequence: z.number(), sha256: z.string(), body: z.string() }).optional(),
  })
  .nullable();

export const sqlAudit = (database: Database): Audit => ({
  async activate(active) {
    await callFunction(database, 'set_audit', { p_active: active });
  },
  async write(entry) {
    await callFunction(database, 'write_audit', { p_entry: JSON.stringify(entry) });
  },
  async take(environment, { everySeconds, entriesMax, holdSeconds }) {
    const found = taken.parse(
      await callFunction(database, 'audit_take', {
        p_environment: environment,
        p_every_seconds: everySeconds,
        p_most: entriesMax,
        p_hold_seconds: holdSeconds,
      }),
    );
    return found && { waitsSeconds: found.waits_seconds, file: found.file };
  },
  async written(sequence) {
    await callFunction(database, 'audit_written', { p_sequence: sequence });
  },
});
