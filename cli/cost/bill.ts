import type { PricedDeployment } from './deployments.ts';
import { PRICES_OF_REGION, type Price } from './prices.ts';

export const MONTH_HOURS = 730;

/** Interface endpoints of infra/endpoints.ts. */
const ENDPOINTS = 5;
const KEYS = 3;

/** The parts of a bill, in the order of its lines. */
export const BILL_PARTS = ['browser nodes', 'their disks', 'always there', 'traffic', 'videos'] as const;
export type BillPart = (typeof BILL_PARTS)[number];

export interface BillLine {
  readonly part: BillPart;
  readonly item: string;
  /** How much of it in the period. */
  readonly quantity: number;
  readonly per: string;
  readonly price_usd: number;
  readonly usd: number;
  readonly source: string;
  readonly read: string;
}

/** Resources that a deployment used in a period. */
export interface Consumption {
  readonly hours: number;
  /** Hours of all browser nodes. */
  readonly nodeHours: number;
  /** Name of the nodes in the bill, such as `6 c6a.8xlarge`. */
  readonly nodes: string;
  readonly natGB: number;
  readonly outGB: number;
  readonly betweenZonesGB: number;
  readonly storedGBMonths: number;
  /** Name of what is stored in the bill. */
  readonly stored: string;
}

export function billLines(deployment: PricedDeployment, used: Consumption): BillLine[] {
  const { systemNodes, browserNodes, natGateways, endpointZones } = deployment;
  const prices = PRICES_OF_REGION[deployment.region];
  const months = used.hours / MONTH_HOURS;
  const line = (part: BillPart, item: string, quantity: number, { usd, per, source, read }: Price): BillLine => ({
    part,
    item,
    quantity,
    per,
    price_usd: usd,
    usd: quantity * usd,
    source,
    read,
  });
  const always = line.bind(undefined, 'always there');
  const spotShare = browserNodes.spotPercent / 100;
  const nodes = [
    { capacity: 'on-demand', share: 1 - spotShare, price: prices.onDemand[browserNodes.type] },
    { capacity: 'spot', share: spotShare, price: prices.spot[browserNodes.type] },
  ]
    .filter(({ share }) => share > 0)
    .map(({ capacity, share, price }) =>
      line(
        'browser nodes',
        `browser nodes: ${used.nodes}, ${percent(share)}${capacity}`,
        used.nodeHours * share,
        price,
      ),
    );
  return [
    ...nodes,
    line('their disks', 'disks of browser nodes', (used.nodeHours / MONTH_HOURS) * browserNodes.diskGiB, prices.disk),
    always('EKS control plane', used.hours, prices.cluster),
    always(
      `system nodes: ${systemNodes.count} ${systemNodes.type}`,
      systemNodes.count * used.hours,
      prices.onDemand[systemNodes.type],
    ),
    always('disks of system nodes', systemNodes.count * systemNodes.diskGiB * months, prices.disk),
    always(`NAT gateways: ${natGateways}`, natGateways * used.hours, prices.natGateway),
    always('addresses of NAT gateways', natGateways * used.hours, prices.address),
    always('interface endpoints', ENDPOINTS * endpointZones * used.hours, prices.endpoint),
    always('KMS keys', KEYS * months, prices.key),
    line('traffic', 'web traffic through NAT', used.natGB, prices.natTraffic),
    line('traffic', 'traffic out', used.outGB, prices.trafficOut),
    line('traffic', 'traffic between zones', used.betweenZonesGB, prices.trafficBetweenZones),
    line('videos', used.stored, used.storedGBMonths, prices.storage),
  ];
}

const percent = (share: number): string => (share === 1 ? '' : `${Math.round(share * 100)} % `);

export const sumOf = (lines: readonly BillLine[], part?: BillPart): number =>
  lines.filter(line => part === undefined || line.part === part).reduce((sum, { usd }) => sum + usd, 0);
