import type { Dashboard } from '../dashboard.ts';
import { COST } from './cost.ts';
import { EGRESS_AND_SECURITY } from './egress.ts';
import { FLEET } from './fleet.ts';
import { LEASES } from './leases.ts';

export const DASHBOARDS: readonly Dashboard[] = [FLEET, LEASES, EGRESS_AND_SECURITY, COST];
