import type { InstanceMemoryGiB } from '../../contract/node-capacity.ts';

/** A price, with the page that it is from and its month. */
export interface Price {
  readonly usd: number;
  readonly per: string;
  readonly source: string;
  /** Month of the list that was read, or of the reading where the page has no date. */
  readonly read: string;
}

const price = (usd: number, per: string, source: string, read = '2026-11'): Price => ({ usd, per, source, read });
const hourly = (usd: number, source: string, read?: string): Price => price(usd, 'hour', source, read);

const EC2 = 'https://aws.amazon.com/ec2/pricing/on-demand/';
const VPC = 'https://aws.amazon.com/vpc/pricing/';
/** AWS's price list of us-east-1, of 19 January 2026. */
const LISTED =
  'https://github.com/aws/karpenter-provider-aws/blob/main/pkg/providers/pricing/zz_generated.pricing_aws.go';
/** Prices on demand and spot of each zone, as AWS's API gave them. */
const CATALOGUE =
  'https://github.com/skypilot-org/skypilot-catalog/blob/00148f2af3672e2229b4f7bf8157d5a3f36e3c35/catalogs/v8/aws/vms.csv';

/** Regions of which prices are known. */
export const PRICED_REGIONS = ['eu-central-1', 'us-east-1'] as const;
export type PricedRegion = (typeof PRICED_REGIONS)[number];

/** Instance types for browsers. `podsMax`: what EKS lets a node run. */
export const INSTANCES = {
  'm6a.2xlarge': { cores: 8, memoryGiB: 32, podsMax: 58 },
  'c6a.4xlarge': { cores: 16, memoryGiB: 32, podsMax: 110 },
  'c6a.8xlarge': { cores: 32, memoryGiB: 64, podsMax: 234 },
  'c6g.8xlarge': { cores: 32, memoryGiB: 64, podsMax: 234 },
} as const satisfies Record<string, { cores: number; memoryGiB: InstanceMemoryGiB; podsMax: number }>;
export type PricedInstance = keyof typeof INSTANCES;
export const INSTANCE_NAMES = Object.keys(INSTANCES) as PricedInstance[]; // its keys

type SystemInstance = 'm6a.large' | 't3a.large';

export interface RegionPrices {
  readonly cluster: Price;
  readonly onDemand: Readonly<Record<PricedInstance | SystemInstance, Price>>;
  /** Mean of the region's zones. */
  readonly spot: Readonly<Record<PricedInstance, Price>>;
  readonly disk: Price;
  readonly natGateway: Price;
  readonly natTraffic: Price;
  readonly address: Price;
  readonly endpoint: Price;
  readonly key: Price;
  readonly trafficOut: Price;
  readonly trafficBetweenZones: Price;
  readonly storage: Price;
}

const EVERYWHERE = {
  cluster: hourly(0.1, 'https://aws.amazon.com/eks/pricing/'),
  address: hourly(0.005, VPC),
  key: price(1, 'month', 'https://aws.amazon.com/kms/pricing/'),
  trafficOut: price(0.09, 'GB', EC2),
  trafficBetweenZones: price(0.02, 'GB', EC2),
};

/** 40 % of the price on demand: an assumption, since the catalogue was not read for this type. */
const assumedSpot = (onDemandUsd: number) =>
  hourly(Number((onDemandUsd * 0.4).toFixed(4)), 'https://aws.amazon.com/ec2/spot/instance-advisor/');

/** List prices in US dollars, without tax. */
export const PRICES_OF_REGION: Readonly<Record<PricedRegion, RegionPrices>> = {
  'eu-central-1': {
    ...EVERYWHERE,
    onDemand: {
      'm6a.2xlarge': hourly(0.4147, EC2),
      'c6a.4xlarge': hourly(0.6984, CATALOGUE),
      'c6a.8xlarge': hourly(1.3968, CATALOGUE),
      'c6g.8xlarge': hourly(1.2416, CATALOGUE),
      'm6a.large': hourly(0.1037, EC2),
      't3a.large': hourly(0.0864, EC2),
    },
    spot: {
      'm6a.2xlarge': assumedSpot(0.4147),
      'c6a.4xlarge': hourly(0.3649, CATALOGUE),
      'c6a.8xlarge': hourly(0.6135, CATALOGUE),
      'c6g.8xlarge': hourly(0.4613, CATALOGUE),
    },
    disk: price(0.0952, 'GB-month', 'https://aws.amazon.com/ebs/pricing/'),
    natGateway: hourly(0.052, VPC),
    natTraffic: price(0.052, 'GB', VPC),
    endpoint: hourly(0.012, 'https://aws.amazon.com/privatelink/pricing/'),
    storage: price(0.0245, 'GB-month', 'https://aws.amazon.com/s3/pricing/'),
  },
  'us-east-1': {
    ...EVERYWHERE,
    onDemand: {
      'm6a.2xlarge': hourly(0.3456, LISTED, '2026-01'),
      'c6a.4xlarge': hourly(0.612, LISTED, '2026-01'),
      'c6a.8xlarge': hourly(1.224, LISTED, '2026-01'),
      'c6g.8xlarge': hourly(1.088, LISTED, '2026-01'),
      'm6a.large': hourly(0.0864, LISTED, '2026-01'),
      't3a.large': hourly(0.0752, EC2),
    },
    spot: {
      'm6a.2xlarge': assumedSpot(0.3456),
      'c6a.4xlarge': hourly(0.3362, CATALOGUE),
      'c6a.8xlarge': hourly(0.6254, CATALOGUE),
      'c6g.8xlarge': hourly(0.3803, CATALOGUE),
    },
    disk: price(0.08, 'GB-month', 'https://aws.amazon.com/ebs/pricing/'),
    natGateway: hourly(0.045, VPC),
    natTraffic: price(0.045, 'GB', VPC),
    endpoint: hourly(0.01, 'https://aws.amazon.com/privatelink/pricing/'),
    storage: price(0.023, 'GB-month', 'https://aws.amazon.com/s3/pricing/'),
  },
};
