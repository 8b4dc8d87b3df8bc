import { parseQuantity } from './quantity.ts';

/** A request and a limit, as Kubernetes quantities. */
export interface Resources {
  readonly cpu: readonly [request: string, limit: string];
  readonly memory: readonly [request: string, limit: string];
  readonly ephemeralStorage: readonly [request: string, limit: string];
}

/** The containers of a runner's pod. */
export interface RunnerResources {
  readonly browser: Resources;
  readonly uploader: Resources;
}

/**
 * Sizes of a runner's pod. Both have the same limits; requests say how many fit on a node. The pod of `lean` requests a quarter of a
 * core and 512 MiB, a little more than twice the memory of a leased idle browser (docs/sizing.md).
 */
export const RUNNER_SHAPES = {
  /** O11: requests 1 CPU and 2 GiB, limits 2 CPU and 4 GiB. */
  standard: {
    browser: { cpu: ['1', '2'], memory: ['2Gi', '4Gi'], ephemeralStorage: ['8Gi', '8Gi'] },
    uploader: { cpu: ['50m', '500m'], memory: ['128Mi', '256Mi'], ephemeralStorage: ['256Mi', '256Mi'] },
  },
  lean: {
    browser: { cpu: ['200m', '2'], memory: ['448Mi', '4Gi'], ephemeralStorage: ['2Gi', '8Gi'] },
    uploader: { cpu: ['50m', '500m'], memory: ['64Mi', '256Mi'], ephemeralStorage: ['64Mi', '256Mi'] },
  },
} as const satisfies Record<string, RunnerResources>;
export type RunnerShape = keyof typeof RUNNER_SHAPES;
export const RUNNER_SHAPE_NAMES = Object.keys(RUNNER_SHAPES) as RunnerShape[]; // its keys

/** The resources of a shape. Throws an Error for a name that is none. */
export function resourcesOfShape(name: string): RunnerResources {
  const shape = RUNNER_SHAPE_NAMES.find(each => each === name);
  if (shape === undefined)
    throw new Error(`"${name}" is no shape of a runner: choose one of ${RUNNER_SHAPE_NAMES.join(', ')}.`);
  return RUNNER_SHAPES[shape];
}

/** Requests of a pod, in cores and bytes. */
export interface PodRequests {
  readonly cores: number;
  readonly memoryBytes: number;
  readonly diskBytes: number;
}

/** Requests of a runner's pod. Its uploader is a sidecar, which runs beside the browser, so that both count. */
export function podRequests({ browser, uploader }: RunnerResources): PodRequests {
  const both = (field: keyof Resources) => parseQuantity(browser[field][0]) + parseQuantity(uploader[field][0]);
  return { cores: both('cpu'), memoryBytes: both('memory'), diskBytes: both('ephemeralStorage') };
}
