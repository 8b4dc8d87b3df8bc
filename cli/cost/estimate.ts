import { fitRunners } from '../../contract/node-capacity.ts';
import { podRequests, RUNNER_SHAPES } from '../../contract/runner-shapes.ts';
import { BILL_PARTS, type BillLine, type BillPart, billLines, MONTH_HOURS, sumOf } from './bill.ts';
import type { CostChoices, PricedDeployment } from './deployments.ts';
import { INSTANCES } from './prices.ts';

/** Assumptions about a session that is leased for an hour: docs/sizing.md. */
export const SESSION_HOUR = { webGB: 0.2, outShare: 0.05, betweenZonesShare: 2 / 3, videoGB: 0.45 };

/** US dollars that the browser nodes of a session-hour are aimed to take, at 70 % fill: docs/adr/0106-a-lean-runner-and-its-price.md. */
const AIMS = { onDemand: 0.015, spotOrHibernated: 0.006 };

export interface CostEstimate {
  readonly region: string;
  readonly shape: string;
  readonly sessions: number;
  readonly fill: number;
  /** Share of the session-hours in which the session is hibernated. */
  readonly hibernated: number;
  readonly runners_per_node: number;
  readonly limited_by: string;
  readonly browser_nodes: number;
  readonly lines: readonly BillLine[];
  readonly usd_month: number;
  readonly usd_session_hour: number;
  readonly usd_session_hour_by_part: Readonly<Record<BillPart, number>>;
  /** The aim is about the part `of` alone. */
  readonly aim: { readonly of: BillPart; readonly usd_session_hour: number; readonly reached: boolean };
  /** Settings that must grow before the deployment holds this many sessions. */
  readonly limits: readonly string[];
}

/** The deployment with what was chosen instead. Another instance type runs the pods that EKS allows there. */
export function withChoices(
  deployment: PricedDeployment,
  { region, instance, spot, shape }: CostChoices,
): PricedDeployment {
  const { browserNodes } = deployment;
  const type = instance ?? browserNodes.type;
  const podsMax =
    type === browserNodes.type ? browserNodes.podsMax : Math.min(browserNodes.podsMax, INSTANCES[type].podsMax);
  return {
    ...deployment,
    region: region ?? deployment.region,
    shape: shape ?? deployment.shape,
    browserNodes: { ...browserNodes, type, podsMax, spotPercent: spot ?? browserNodes.spotPercent },
  };
}

/** Runners on one of its browser nodes. */
export const runnersPerNode = ({ browserNodes, shape }: PricedDeployment) =>
  fitRunners({ ...INSTANCES[browserNodes.type], ...browserNodes }, podRequests(RUNNER_SHAPES[shape]));

/**
 * The bill of a deployment whose `sessions` are leased or hibernated around the clock; `fill` is the share of taken places on its nodes.
 * A hibernated session has no runner, no traffic and no video.
 */
export function estimateCost(
  deployment: PricedDeployment,
  { sessions, fill, hibernated = 0 }: { sessions: number; fill: number; hibernated?: number },
): CostEstimate {
  const { runners, limitedBy } = runnersPerNode(deployment);
  const leased = sessions * (1 - hibernated);
  const nodes = Math.ceil(leased / fill / runners);
  const leasedHours = leased * MONTH_HOURS;
  const webGB = leasedHours * SESSION_HOUR.webGB;
  const lines = billLines(deployment, {
    hours: MONTH_HOURS,
    nodeHours: nodes * MONTH_HOURS,
    nodes: `${nodes} ${deployment.browserNodes.type}`,
    natGB: webGB,
    outGB: webGB * SESSION_HOUR.outShare,
    betweenZonesGB: webGB * SESSION_HOUR.betweenZonesShare,
    storedGBMonths: leased * 24 * deployment.retentionDays * SESSION_HOUR.videoGB,
    stored: `videos, kept ${deployment.retentionDays} days`,
  });
  const perSessionHour = (usd: number) => usd / (sessions * MONTH_HOURS);
  const byPart = Object.fromEntries(BILL_PARTS.map(part => [part, perSessionHour(sumOf(lines, part))]));
  const cheap = deployment.browserNodes.spotPercent === 100 || hibernated > 0;
  const aimed = cheap ? AIMS.spotOrHibernated : AIMS.onDemand;
  return {
    region: deployment.region,
    shape: deployment.shape,
    sessions,
    fill,
    hibernated,
    runners_per_node: runners,
    limited_by: limitedBy,
    browser_nodes: nodes,
    lines,
    usd_month: sumOf(lines),
    usd_session_hour: perSessionHour(sumOf(lines)),
    usd_session_hour_by_part: byPart as Record<BillPart, number>, // each of BILL_PARTS
    aim: {
      of: 'browser nodes',
      usd_session_hour: aimed,
      reached: perSessionHour(sumOf(lines, 'browser nodes')) <= aimed,
    },
    limits: [
      ...(leased > deployment.capacity ? [`capacity: ${deployment.capacity}, needed ${Math.ceil(leased)}`] : []),
      ...(nodes > deployment.browserNodes.max
        ? [`browserNodes.max: ${deployment.browserNodes.max}, needed ${nodes}`]
        : []),
    ],
  };
}
