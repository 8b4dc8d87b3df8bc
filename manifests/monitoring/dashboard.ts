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

const COLUMNS = 24;
const SIZES = { timeseries: { w: 12, h: 8 }, stat: { w: 6, h: 4 } } as const;
const DATASOURCE = { type: 'prometheus', uid: '$datasource' } as const;
/** The format of dashboards since Grafana 10.3; later versions migrate it when they load it. */
const SCHEMA_VERSION = 39;

/** The JSON that Grafana imports. */
export function grafanaJson({ uid, title, description, numbers = [], rows }: Dashboard) {
  return {
    uid,
    title,
    description,
    tags: ['omicron-browser'],
    schemaVersion: SCHEMA_VERSION,
    editable: false,
    graphTooltip: 1,
    refresh: '1m',
    time: { from: 'now-6h', to: 'now' },
    timezone: 'browser',
    templating: {
      list: [
        { name: 'datasource', label: 'Prometheus', type: 'datasource', query: 'prometheus' },
        ...numbers.map(({ name, label, value }) => ({ name, label, type: 'textbox', query: String(value) })),
      ],
    },
    panels: layOut(rows),
  };
}

/** Rows from top to bottom, panels from left to right; one that does not fit starts a line. */
function layOut(rows: Dashboard['rows']) {
  let id = 0;
  let y = 0;
  return rows.flatMap(({ title, panels }) => {
    const heading = {
      id: ++id,
      type: 'row',
      title,
      collapsed: false,
      gridPos: { x: 0, y, w: COLUMNS, h: 1 },
      panels: [],
    };
    let x = 0;
    let lineHeight = 0;
    y += 1;
    const placed = panels.map(panel => {
      const { w, h } = SIZES[panel.kind];
      if (x + w > COLUMNS) {
        y += lineHeight;
        x = 0;
        lineHeight = 0;
      }
      const gridPos = { x, y, w, h };
      x += w;
      lineHeight = Math.max(lineHeight, h);
      return { id: ++id, gridPos, ...panelJson(panel) };
    });
    y += lineHeight;
    return [heading, ...placed];
  });
}

function panelJson({ title, description, kind, unit, queries }: Panel) {
  return {
    type: kind,
    title,
    description,
    datasource: DATASOURCE,
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options:
      kind === 'stat'
        ? { reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false } }
        : { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode(65 + index),
      datasource: DATASOURCE,
      expr,
      legendFormat: legend,
      editorMode: 'code',
      range: kind === 'timeseries',
      instant: kind === 'stat',
    })),
  };
}
