/** A list price, with the page that it is from and the month in which it was read. */
export interface Price {
  readonly usd: number;
  readonly per: string;
  readonly source: string;
  readonly read: string;
}

const price = (usd: number, per: string, source: string): Price => ({ usd, per, source, read: '2026-11' });

const EC2 = 'https://aws.amazon.com/ec2/pricing/on-demand/';
const VPC = 'https://aws.amazon.com/vpc/pricing/';

/** Region of the prices, and of both stacks. */
export const PRICED_REGION = 'eu-central-1';

/** List prices in US dollars, on demand, without tax. */
export const LIST_PRICES = {
  cluster: price(0.1, 'hour', 'https://aws.amazon.com/eks/pricing/'),
  'm6a.2xlarge': price(0.4147, 'hour', EC2),
  'm6a.large': price(0.1037, 'hour', EC2),
  't3a.large': price(0.0864, 'hour', EC2),
  disk: price(0.0952, 'GB-month', 'https://aws.amazon.com/ebs/pricing/'),
  natGateway: price(0.052, 'hour', VPC),
  natTraffic: price(0.052, 'GB', VPC),
  address: price(0.005, 'hour', VPC),
  endpoint: price(0.012, 'hour', 'https://aws.amazon.com/privatelink/pricing/'),
  key: price(1, 'month', 'https://aws.amazon.com/kms/pricing/'),
  trafficOut: price(0.09, 'GB', EC2),
  trafficBetweenZones: price(0.02, 'GB', EC2),
  storage: price(0.0245, 'GB-month', 'https://aws.amazon.com/s3/pricing/'),
} as const satisfies Record<string, Price>;

/** Spot instances, as a share of the price on demand: an assumption; the pages show the discounts of the day. */
export const SPOT_SHARE = {
  share: 0.4,
  source: 'https://aws.amazon.com/ec2/spot/instance-advisor/',
  read: '2026-11',
};
