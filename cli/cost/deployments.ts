import type { LIST_PRICES } from './prices.ts';

/** The parts of a deployment on AWS that cost money. test/cli/cost.test.ts compares them with Pulumi.<env>.yaml and manifests/. */
export interface PricedDeployment {
  readonly systemNodes: { readonly type: keyof typeof LIST_PRICES; readonly count: number; readonly diskGiB: number };
  readonly browserNodes: {
    readonly type: keyof typeof LIST_PRICES;
    readonly capacity: 'spot' | 'on-demand';
    readonly max: number;
    readonly diskGiB: number;
    readonly cores: number;
    readonly memoryGiB: number;
  };
  readonly natGateways: number;
  readonly endpointZones: number;
  readonly retentionDays: number;
  /** Requests of a runner's pod, its uploader included. */
  readonly runner: { readonly cores: number; readonly memoryGiB: number };
  /** Runners that the deployment lets exist at once. */
  readonly capacity: number;
}

const RUNNER = { cores: 1.05, memoryGiB: 2.125 };
const M6A_2XLARGE = { type: 'm6a.2xlarge', diskGiB: 100, cores: 8, memoryGiB: 32 } as const;

export const PRICED_DEPLOYMENTS = {
  dev: {
    systemNodes: { type: 't3a.large', count: 2, diskGiB: 40 },
    browserNodes: { ...M6A_2XLARGE, capacity: 'spot', max: 16 },
    natGateways: 1,
    endpointZones: 1,
    retentionDays: 7,
    runner: RUNNER,
    capacity: 20,
  },
  prod: {
    systemNodes: { type: 'm6a.large', count: 3, diskGiB: 60 },
    browserNodes: { ...M6A_2XLARGE, capacity: 'on-demand', max: 20 },
    natGateways: 3,
    endpointZones: 3,
    retentionDays: 7,
    runner: RUNNER,
    capacity: 120,
  },
} as const satisfies Record<string, PricedDeployment>;
export type PricedEnvironment = keyof typeof PRICED_DEPLOYMENTS;
