import { PORTS, SERVICE_ACCOUNTS, SERVICES } from '../../contract/names.ts';
import type { Environment } from '../environment-type.ts';

/** The two places that a runner reaches, under names that its own hosts file resolves. */
export const CONTROLLER_URL = `http://${SERVICES.controller}:${PORTS.controller}`;
export const EGRESS_URL = `http://${SERVICES.egress}:${PORTS.egress}`;

export const hostAliases = ({ clusterIps }: Environment) => [
  { ip: clusterIps.controller, hostnames: [SERVICES.controller] },
  { ip: clusterIps.egress, hostnames: [SERVICES.egress] },
];

/** The IRSA role hangs on the account; no container gets a token for the API server. */
export const runnerAccount = {
  serviceAccountName: SERVICE_ACCOUNTS.runner,
  automountServiceAccountToken: false,
} as const;
