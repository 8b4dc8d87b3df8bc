import { Counter, Gauge, type Registry } from '@prometheus-io/client';
import type { PrefixSurvey } from './ports/artifacts.ts';

export interface ArtifactStoreMetrics {
  /** Contents of the artifact store below one prefix, and the days that they are to be kept. */
  surveyed(held: PrefixSurvey, retentionDays: number): void;
  surveyFailed(): void;
}

/** S3's lifecycle rules count in days; Prometheus in seconds. */
const DAY_SECONDS = 86_400;

/** The series of the hourly look at the artifact store. */
export function artifactStoreMetrics(registry: Registry): ArtifactStoreMetrics {
  const registers = [registry];
  const gauge = (name: string, help: string) =>
    new Gauge({ name: `omicron_artifact_store_${name}`, help, labelNames: ['prefix'], registers });
  const stored = {
    objects: gauge('objects', 'Objects in the artifact store, at the last look'),
    bytes: gauge('bytes', 'Bytes of the objects in the artifact store, at the last look'),
    oldest: gauge('oldest_timestamp_seconds', 'When the oldest object was stored; absent where there is none'),
    expiry: gauge('expiry_seconds', 'Age at which the store removes objects; 0 where no rule does'),
    retention: gauge('retention_seconds', 'Age at which objects are to be removed'),
  };
  const unchecked = new Counter({
    name: 'omicron_artifact_store_check_failures_total',
    help: 'Looks at the artifact store that failed; one is due every hour',
    registers,
  });
  return {
    surveyFailed: () => unchecked.inc(),
    surveyed({ prefix, objects, bytes, oldestMs, expiryDays }, retentionDays) {
      const labels = { prefix };
      stored.objects.set(labels, objects);
      stored.bytes.set(labels, bytes);
      if (oldestMs === null) stored.oldest.remove(labels);
      else stored.oldest.set(labels, oldestMs / 1_000);
      stored.expiry.set(labels, DAY_SECONDS * (expiryDays ?? 0));
      stored.retention.set(labels, DAY_SECONDS * retentionDays);
    },
  };
}
