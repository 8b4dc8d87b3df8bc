import type { RunnerShape } from '../../contract/runner-shapes.ts';
import type { PricedInstance, PricedRegion } from './prices.ts';

/** The parts of a deployment on AWS that cost money. test/cli/cost.test.ts compares them with Pulumi.<env>.yaml and manifests/. */
export interface PricedDeployment {
  readonly region: PricedRegion;
  readonly systemNodes: { readonly type: 'm6a.large' | 't3a.large'; readonly count: number; readonly diskGiB: number };
  readonly browserNodes: {
    readonly type: PricedInstance;
    readonly spotPercent: number;
    readonly max: number;
    readonly diskGiB: number;
    readonly podsMax: number;
  };
  readonly natGateways: number;
  readonly endpointZones: number;
  readonly retentionDays: number;
  readonly shape: RunnerShape;
  /** Runners that the deployment lets exist at once. */
  readonly capacity: number;
}

export const PRICED_DEPLOYMENTS = {
  dev: {
    region: 'eu-central-1',
    systemNodes: { type: 't3a.large', count: 2, diskGiB: 40 },
    browserNodes: { type: 'm6a.2xlarge', spotPercent: 100, max: 16, diskGiB: 100, podsMax: 58 },
    natGateways: 1,
    endpointZones: 1,
    retentionDays: 7,
    shape: 'standard',
    capacity: 20,
  },
  prod: {
    region: 'eu-central-1',
    systemNodes: { type: 'm6a.large', count: 3, diskGiB: 60 },
    browserNodes: { type: 'c6a.8xlarge', spotPercent: 0, max: 8, diskGiB: 300, podsMax: 125 },
    natGateways: 3,
    endpointZones: 3,
    retentionDays: 7,
    shape: 'lean',
    capacity: 520,
  },
} as const satisfies Record<string, PricedDeployment>;
export type PricedEnvironment = keyof typeof PRICED_DEPLOYMENTS;

/** Choices of a command line, which replace those of the deployment. */
export interface CostChoices {
  readonly region?: PricedRegion;
  readonly instance?: PricedInstance;
  readonly spot?: number;
  readonly shape?: RunnerShape;
}
