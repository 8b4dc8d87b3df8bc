import * as z from 'zod';
import { LAST_DAY } from '../../contract/last-day.ts';
import { type BillLine, billLines, MONTH_HOURS, sumOf } from './bill.ts';
import type { PricedDeployment } from './deployments.ts';
import { runnersPerNode } from './estimate.ts';

const DAY_HOURS = 24;
const GB = 1e9;

/** The last 24 hours, by the metrics. */
export interface DayUse {
  readonly sessionHours: number;
  readonly runnerHours: number;
  readonly inGB: number;
  readonly outGB: number;
  readonly storedGB: number;
}

export interface DayBill {
  readonly used: DayUse;
  /** Hours of browser nodes that hold these runners at this fill: metrics do not count nodes. */
  readonly node_hours: number;
  readonly lines: readonly BillLine[];
  readonly usd: number;
  /** Null where no session ran. */
  readonly usd_session_hour: number | null;
}

/** Prices of a day, at the fill that is assumed of the nodes. */
export function priceDay(deployment: PricedDeployment, used: DayUse, fill: number): DayBill {
  const node_hours = used.runnerHours / runnersPerNode(deployment).runners / fill;
  const lines = billLines(deployment, {
    hours: DAY_HOURS,
    nodeHours: node_hours,
    nodes: deployment.browserNodes.type,
    natGB: used.inGB + used.outGB,
    outGB: used.outGB,
    betweenZonesGB: (used.inGB + used.outGB) * (2 / 3),
    storedGBMonths: (used.storedGB * DAY_HOURS) / MONTH_HOURS,
    stored: 'videos, files and pages that are stored',
  });
  const usd = sumOf(lines);
  return { used, node_hours, lines, usd, usd_session_hour: used.sessionHours === 0 ? null : usd / used.sessionHours };
}

const PROMETHEUS_ANSWER = z.object({
  status: z.literal('success'),
  data: z.object({
    result: z.array(z.object({ metric: z.record(z.string(), z.string()), value: z.tuple([z.number(), z.string()]) })),
  }),
});

interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Reads the last day from a Prometheus that scrapes controller and egress proxy. Throws an Error that says what is missing. */
export async function readDay(prometheus: string, signal: AbortSignal): Promise<DayUse> {
  const ask = (query: string) => queryPrometheus(prometheus, query, signal);
  const total = (samples: readonly Sample[]) => samples.reduce((sum, { value }) => sum + value, 0);
  const runners = await ask(LAST_DAY.runnerHours);
  const sessions = await ask(LAST_DAY.sessionHours);
  if (runners.length === 0 || sessions.length === 0)
    throw new Error(
      `${prometheus} has no omicron_runners or omicron_active_sessions of the last day: does it scrape the controller?`,
    );
  const traffic = await ask(LAST_DAY.trafficBytes);
  const inDirection = (direction: string) => total(traffic.filter(({ labels }) => labels.direction === direction)) / GB;
  return {
    sessionHours: total(sessions),
    runnerHours: total(runners),
    inGB: inDirection('in'),
    outGB: inDirection('out'),
    storedGB: total(await ask(LAST_DAY.storedBytes)) / GB,
  };
}

/** https://prometheus.io/docs/prometheus/latest/querying/api/#instant-queries */
async function queryPrometheus(base: string, query: string, signal: AbortSignal): Promise<Sample[]> {
  const url = new URL('api/v1/query', base.endsWith('/') ? base : `${base}/`);
  url.searchParams.set('query', query);
  const answer = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(30_000)]) }).catch(error => {
    throw new Error(`${base} cannot be reached: ${(error as Error).message}. Check the address, or forward the port.`, {
      cause: error,
    });
  });
  const parsed = PROMETHEUS_ANSWER.safeParse(await answer.json().catch(() => undefined));
  if (!parsed.success) throw new Error(`${base} answered ${answer.status}, and not as a Prometheus does.`);
  return parsed.data.data.result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
}
