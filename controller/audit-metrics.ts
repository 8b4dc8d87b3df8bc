import { Counter, Gauge, type Registry } from '@prometheus-io/client';

export interface AuditMetrics {
  /** For how long the oldest entry has waited for its file. */
  auditWaits(seconds: number): void;
  auditFailed(): void;
}

/** The series of the audit's export. */
export function auditMetrics(registry: Registry): AuditMetrics {
  const registers = [registry];
  const waits = new Gauge({
    name: 'omicron_audit_waiting_seconds',
    help: 'For how long the oldest audit entry that is in no file had waited, at the last look of this replica',
    registers,
  });
  const failures = new Counter({
    name: 'omicron_audit_export_failures_total',
    help: 'Audit files that this replica could not write; each is tried again',
    registers,
  });
  return { auditWaits: seconds => waits.set(seconds), auditFailed: () => failures.inc() };
}
