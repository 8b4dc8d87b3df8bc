import type { PricedDeployment } from './deployments.ts';
import { LIST_PRICES, type Price, SPOT_SHARE } from './prices.ts';

export const MONTH_HOURS = 730;

/** Kept free on a node for the system and its agents: https://docs.aws.amazon.com/eks/latest/userguide/choosing-instance-type.html */
const RESERVED = { cores: 0.6, memoryGiB: 2.5 };
/** Interface endpoints of infra/endpoints.ts. */
const ENDPOINTS = 5;
const KEYS = 3;
/** Assumptions about a session that is leased for an hour: docs/sizing.md. */
export const SESSION_HOUR = { webGB: 0.2, outShare: 0.05, betweenZonesShare: 2 / 3, videoGB: 0.45 };

export interface CostLine {
  readonly item: string;
  /** How much of it a month. */
  readonly quantity: number;
  readonly per: string;
  readonly price_usd: number;
  readonly usd_month: number;
  readonly usd_session_hour: number;
  readonly source: string;
  readonly read: string;
}

export interface CostEstimate {
  readonly sessions: number;
  readonly fill: number;
  readonly runners_per_node: number;
  readonly browser_nodes: number;
  readonly lines: readonly CostLine[];
  readonly usd_month: number;
  readonly usd_session_hour: number;
  /** The share of the browser nodes, without their disks. */
  readonly usd_session_hour_of_nodes: number;
  /** Settings that must grow before the deployment holds this many sessions. */
  readonly limits: readonly string[];
}

/** The bill of a deployment whose `sessions` are leased around the clock; `fill` is the share of taken places on its nodes. */
export function estimateCost(deployment: PricedDeployment, sessions: number, fill: number): CostEstimate {
  const { systemNodes, browserNodes, runner, natGateways, endpointZones, retentionDays } = deployment;
  const perNode = Math.floor(
    Math.min(
      (browserNodes.cores - RESERVED.cores) / runner.cores,
      (browserNodes.memoryGiB - RESERVED.memoryGiB) / runner.memoryGiB,
    ),
  );
  const nodes = Math.ceil(sessions / fill / perNode);
  const sessionHours = sessions * MONTH_HOURS;
  const line = (item: string, quantity: number, { usd, per, source, read }: Price): CostLine => ({
    item,
    quantity,
    per,
    price_usd: usd,
    usd_month: quantity * usd,
    usd_session_hour: sessionHours === 0 ? 0 : (quantity * usd) / sessionHours,
    source,
    read,
  });
  const onDemand = LIST_PRICES[browserNodes.type];
  const nodePrice: Price =
    browserNodes.capacity === 'spot'
      ? { ...onDemand, usd: onDemand.usd * SPOT_SHARE.share, source: SPOT_SHARE.source, read: SPOT_SHARE.read }
      : onDemand;
  const webGB = sessionHours * SESSION_HOUR.webGB;
  const nodeLine = line(
    `browser nodes: ${nodes} ${browserNodes.type}, ${browserNodes.capacity}`,
    nodes * MONTH_HOURS,
    nodePrice,
  );
  const lines = [
    line('EKS control plane', MONTH_HOURS, LIST_PRICES.cluster),
    line(
      `system nodes: ${systemNodes.count} ${systemNodes.type}`,
      systemNodes.count * MONTH_HOURS,
      LIST_PRICES[systemNodes.type],
    ),
    nodeLine,
    line(
      'disks of all nodes',
      systemNodes.count * systemNodes.diskGiB + nodes * browserNodes.diskGiB,
      LIST_PRICES.disk,
    ),
    line(`NAT gateways: ${natGateways}`, natGateways * MONTH_HOURS, LIST_PRICES.natGateway),
    line('addresses of NAT gateways', natGateways * MONTH_HOURS, LIST_PRICES.address),
    line('interface endpoints', ENDPOINTS * endpointZones * MONTH_HOURS, LIST_PRICES.endpoint),
    line('KMS keys', KEYS, LIST_PRICES.key),
    line('web traffic through NAT', webGB, LIST_PRICES.natTraffic),
    line('traffic out', webGB * SESSION_HOUR.outShare, LIST_PRICES.trafficOut),
    line('traffic between zones', webGB * SESSION_HOUR.betweenZonesShare, LIST_PRICES.trafficBetweenZones),
    line(
      `videos, kept ${retentionDays} days`,
      sessions * 24 * retentionDays * SESSION_HOUR.videoGB,
      LIST_PRICES.storage,
    ),
  ];
  const usd_month = lines.reduce((sum, each) => sum + each.usd_month, 0);
  return {
    sessions,
    fill,
    runners_per_node: perNode,
    browser_nodes: nodes,
    lines,
    usd_month,
    usd_session_hour: sessionHours === 0 ? 0 : usd_month / sessionHours,
    usd_session_hour_of_nodes: nodeLine.usd_session_hour,
    limits: [
      ...(sessions > deployment.capacity ? [`capacity: ${deployment.capacity}, needed ${sessions}`] : []),
      ...(nodes > browserNodes.max ? [`browserNodes.max: ${browserNodes.max}, needed ${nodes}`] : []),
    ],
  };
}
