import { ARCHITECTURES, type Architecture } from '../contract/names.ts';
import { architectureOf } from './architecture.ts';
import type { StackConfig } from './config.ts';

/** One managed node group for browsers. */
export interface BrowserGroup {
  readonly name: string;
  readonly architecture: Architecture;
  readonly instanceTypes: readonly string[];
  readonly capacity: 'spot' | 'on-demand';
  readonly min: number;
  readonly max: number;
}

type BrowserNodes = Pick<StackConfig['browserNodes'], 'instanceTypes' | 'spotPercent' | 'min' | 'max'>;

/** The node groups: a group of EKS has instances of one architecture, spot or on demand. */
export const browserGroups = (nodes: BrowserNodes): BrowserGroup[] =>
  ARCHITECTURES.map(architecture => ({
    architecture,
    instanceTypes: nodes.instanceTypes.filter(type => architectureOf(type) === architecture),
  }))
    .filter(({ instanceTypes }) => instanceTypes.length > 0)
    .flatMap(types => {
      const name = types.architecture === 'amd64' ? 'browser' : `browser-${types.architecture}`;
      return divide(nodes).map(({ suffix, ...part }) => ({ ...types, ...part, name: `${name}${suffix}` }));
    });

/**
 * The nodes of an architecture, spot and on demand. A part that is not empty has at least one node. The nodes that always run are on demand
 * where any are.
 */
function divide({ spotPercent, min, max }: BrowserNodes) {
  if (spotPercent === 100) return [{ suffix: '', capacity: 'spot', min, max } as const];
  if (spotPercent === 0) return [{ suffix: '', capacity: 'on-demand', min, max } as const];
  const spot = Math.min(max - 1, Math.max(1, Math.round((max * spotPercent) / 100)));
  const always = Math.min(min, max - spot);
  return [
    { suffix: '', capacity: 'on-demand', min: always, max: max - spot } as const,
    { suffix: '-spot', capacity: 'spot', min: min - always, max: spot } as const,
  ];
}
