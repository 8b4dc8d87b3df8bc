import {
  LegendDisplayMode,
  LegendPlacement,
  ReduceDataOptionsBuilder,
  SortOrder,
  TooltipDisplayMode,
  VizLegendOptionsBuilder,
  VizTooltipOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common';
import {
  DashboardBuilder,
  DashboardCursorSync,
  DatasourceVariableBuilder,
  type Dashboard as GrafanaDashboard,
  RowBuilder,
  TextBoxVariableBuilder,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as StatPanel } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as TimeseriesPanel } from '@grafana/grafana-foundation-sdk/timeseries';

/** A panel of a dashboard: queries in PromQL, drawn over time or as one number. */
export interface Panel {
  readonly title: string;
  /** Shown over the title: the meaning of a high or low value. */
  readonly description: string;
  readonly kind: 'timeseries' | 'stat';
  /** A unit of Grafana: https://grafana.com/docs/grafana/latest/panels-visualizations/configure-standard-options/#unit */
  readonly unit: 'short' | 'percentunit' | 's' | 'bytes' | 'Bps' | 'ops' | 'reqps' | 'currencyUSD' | 'h' | 'd';
  readonly queries: readonly { readonly expr: string; readonly legend: string }[];
}

export interface Dashboard {
  /** Part of the address in Grafana, so it never changes. */
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  /** Numbers that a viewer may change, read by queries as `$name`. */
  readonly numbers?: readonly { readonly name: string; readonly label: string; readonly value: number }[];
  readonly rows: readonly { readonly title: string; readonly panels: readonly Panel[] }[];
}

/** Window of a rate: Grafana puts at least four scrapes into it. */
export const RATE = '$__rate_interval';

const SIZES = { timeseries: { w: 12, h: 8 }, stat: { w: 6, h: 4 } } as const;
const DATASOURCE = { type: 'prometheus', uid: '$datasource' } as const;

/** The JSON that Grafana imports. */
export function grafanaJson({ uid, title, description, numbers = [], rows }: Dashboard): GrafanaDashboard {
  const made = new DashboardBuilder(title)
    .uid(uid)
    .description(description)
    .tags(['omicron-browser'])
    .readonly()
    .tooltip(DashboardCursorSync.Crosshair)
    .refresh('1m')
    .time({ from: 'now-6h', to: 'now' })
    .timezone('browser')
    .withVariable(new DatasourceVariableBuilder('datasource').label('Prometheus').type('prometheus'));
  for (const { name, label, value } of numbers)
    made.withVariable(new TextBoxVariableBuilder(name).label(label).defaultValue(String(value)));
  let id = 0;
  for (const row of rows) {
    made.withRow(new RowBuilder(row.title).id(++id));
    for (const panel of row.panels) made.withPanel(panelBuilder(panel).id(++id));
  }
  return made.build();
}

/** The file that an operator imports, and that Grafana's sidecar takes. */
export const dashboardFile = (dashboard: Dashboard): string => `${JSON.stringify(grafanaJson(dashboard), null, 1)}\n`;

function panelBuilder({ title, description, kind, unit, queries }: Panel): StatPanel | TimeseriesPanel {
  const { w, h } = SIZES[kind];
  const panel = kind === 'stat' ? statPanel() : timeseriesPanel();
  panel.title(title).description(description).unit(unit).min(0).datasource(DATASOURCE).span(w).height(h);
  for (const [index, { expr, legend }] of queries.entries()) {
    const refId = String.fromCharCode(65 + index);
    const query = new DataqueryBuilder().refId(refId).datasource(DATASOURCE).expr(expr).legendFormat(legend);
    panel.withTarget(kind === 'stat' ? query.instant() : query.range());
  }
  return panel;
}

const statPanel = () => new StatPanel().reduceOptions(new ReduceDataOptionsBuilder().calcs(['lastNotNull']));

const timeseriesPanel = () =>
  new TimeseriesPanel()
    .legend(
      new VizLegendOptionsBuilder()
        .displayMode(LegendDisplayMode.List)
        .placement(LegendPlacement.Bottom)
        .showLegend(true),
    )
    .tooltip(new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi).sort(SortOrder.Descending));
