import type { Logger } from 'pino';
import type { Metrics } from '../metrics.ts';
import type { ArtifactStore } from '../ports/artifacts.ts';
import type { Retention } from '../store/maintenance.ts';

export interface SurveyParts {
  artifacts: Pick<ArtifactStore, 'survey'>;
  metrics: Pick<Metrics, 'surveyed' | 'surveyFailed'>;
  retention: Retention;
  log: Logger;
}

/** O21: looks at the artifact store from outside. Never rejects: a look that fails is counted. */
export async function surveyArtifacts({ artifacts, metrics, retention, log }: SurveyParts): Promise<void> {
  try {
    const survey = await artifacts.survey();
    if (survey === null) return;
    for (const held of survey.prefixes) {
      const days = retention[held.holds];
      metrics.surveyed(held, days);
      const { prefix, expiryDays } = held;
      if (expiryDays !== days)
        log.warn({ prefix, expiry_days: expiryDays, retention_days: days }, 'artifact store keeps for another time');
    }
  } catch (err) {
    metrics.surveyFailed();
    log.error({ err }, 'artifact store not checked');
  }
}
