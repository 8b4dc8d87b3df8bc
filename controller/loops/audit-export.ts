import type { Logger } from 'pino';
import { auditKey } from '../../contract/audit.ts';
import type { Metrics } from '../metrics.ts';
import type { AuditFiles } from '../ports/audit-files.ts';
import type { Audit } from '../store/audit.ts';

export interface AuditExportParts {
  readonly audit: Audit;
  readonly files: AuditFiles;
  readonly metrics: Pick<Metrics, 'auditWaits' | 'auditFailed'>;
  readonly environment: string;
  readonly everySeconds: number;
  readonly log: Logger;
}

/** Entries of one file: a few hundred kilobytes, unless there are policies of up to 64 KiB among them. */
const ENTRIES_MAX = 1_000;
/** A replica that has taken a file writes it in this time, or another one does. */
const HOLD_SECONDS = 60;
/** Files that one round writes at most. */
const FILES_MAX = 100;

/**
 * Writes the files that are due: the database makes a file and its digest, then it is sent, then the database forgets its text. A replica that is
 * killed in between leaves a file that the next one sends again, the same to the byte.
 */
export async function exportAudit(parts: AuditExportParts): Promise<void> {
  const { audit, files, metrics, environment, everySeconds, log } = parts;
  const bounds = { everySeconds, entriesMax: ENTRIES_MAX, holdSeconds: HOLD_SECONDS };
  try {
    for (let written = 0; written < FILES_MAX; written += 1) {
      const taken = await audit.take(environment, bounds);
      if (taken === null) return;
      metrics.auditWaits(taken.waitsSeconds);
      if (taken.file === undefined) return;
      const { sequence, sha256, body } = taken.file;
      await files.put(auditKey(environment, sequence, sha256), body);
      await audit.written(sequence);
      log.info({ sequence, sha256 }, 'audit file written');
    }
  } catch (err) {
    metrics.auditFailed();
    log.error({ err }, 'audit file not written; trying again');
  }
}
