import type { StackConfig } from './config.ts';

/** One managed node group for browsers. */
export interface BrowserGroup {
  readonly name: string;
  readonly capacity: 'spot' | 'on-demand';
  readonly min: number;
  readonly max: number;
}

/**
 * The node groups among which `max` nodes are divided: EKS has spot or on-demand instances in a group, never both. A part that is not
 * empty has at least one node. The nodes that always run are on demand where any are.
 */
export function browserGroups({
  spotPercent,
  min,
  max,
}: Pick<StackConfig['browserNodes'], 'spotPercent' | 'min' | 'max'>): BrowserGroup[] {
  if (spotPercent === 100) return [{ name: 'browser', capacity: 'spot', min, max }];
  if (spotPercent === 0) return [{ name: 'browser', capacity: 'on-demand', min, max }];
  const spot = Math.min(max - 1, Math.max(1, Math.round((max * spotPercent) / 100)));
  const onDemand = { name: 'browser', capacity: 'on-demand', min: Math.min(min, max - spot), max: max - spot } as const;
  return [onDemand, { name: 'browser-spot', capacity: 'spot', min: min - onDemand.min, max: spot }];
}
