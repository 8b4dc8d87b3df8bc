import { ALERTS } from './alerts.ts';
import { BURNS, OBJECTIVES, type Objective, ratioSeries } from './objectives.ts';

/** A Prometheus rule. */
export type PrometheusRule =
  | { readonly record: string; readonly expr: string }
  | {
      readonly alert: string;
      readonly expr: string;
      readonly for: string;
      readonly labels: Readonly<Record<string, string>>;
      readonly annotations: Readonly<Record<string, string>>;
    };

export interface RuleGroup {
  readonly name: string;
  readonly interval?: string;
  readonly rules: readonly PrometheusRule[];
}

/** All rule groups. `runbooks` is the URL of docs/runbooks; `poolIdle` the number of warm runners that are kept. */
export function ruleGroups(runbooks: string, poolIdle: number): readonly RuleGroup[] {
  const about = (alert: string, summary: string) => ({ summary, runbook_url: `${runbooks}/${alert}.md` });
  return [
    { name: 'omicron-browser.objectives', rules: OBJECTIVES.flatMap(recordRatios) },
    {
      name: 'omicron-browser.burn',
      rules: OBJECTIVES.flatMap(objective =>
        BURNS.map(({ factor, long, short, severity }) => {
          const budget = `(${factor} * ${Number((1 - objective.objective).toFixed(6))})`;
          return {
            alert: objective.alert,
            expr: `${ratioSeries(objective, long)} > ${budget} and ${ratioSeries(objective, short)} > ${budget}`,
            for: '2m',
            labels: { severity, burn: `${factor}x`, window: long },
            annotations: about(objective.alert, `${objective.summary} (error budget burns at ${factor}x over ${long})`),
          };
        }),
      ),
    },
    {
      name: 'omicron-browser.alerts',
      rules: ALERTS.filter(({ ofPool }) => poolIdle > 0 || !ofPool).map(
        ({ alert, summary, expr, for: lasting, severity }) => ({
          alert,
          expr,
          for: lasting,
          labels: { severity },
          annotations: about(alert, summary),
        }),
      ),
    },
  ];
}

function recordRatios(objective: Objective): PrometheusRule[] {
  const windows = new Set(BURNS.flatMap(({ long, short }) => [short, long]));
  return [...windows].map(window => ({
    record: ratioSeries(objective, window),
    // No bad event yet is zero; no event at all is unknown.
    expr: `(${objective.bad(window)} or vector(0)) / (${objective.all(window)} > 0)`,
  }));
}
