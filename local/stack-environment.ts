import { ENV } from '../contract/names.ts';
import { findTools, toolsEnvironment } from './machine-tools.ts';
import type { StackOptions } from './stack.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** `off`: no egress proxy, so that pages reach this machine and its network. */
const EGRESS_SWITCH = 'OMICRON_EGRESS';

/** What runners of a local stack take from the environment, besides the paths of browser and ffmpeg. */
const RUNNER_VARIABLES = [ENV.chromiumSandbox, ENV.toolset, ENV.insecureLoginOrigins, ENV.chromiumSpki];

/** The parts of a stack's options that the environment decides: database, egress, controller settings, runners. */
export function stackEnvironment(environment: Environment) {
  const set = Object.entries(environment).flatMap(([name, value]) => (value ? [[name, value] as const] : []));
  const allowedCidrs = (environment[ENV.egressAllowedCidrs] ?? '').split(/[\s,]+/).filter(Boolean);
  return {
    databaseUrl: environment[ENV.databaseUrl] || undefined,
    egress: environment[EGRESS_SWITCH] === 'off' ? 'off' : { allowedCidrs },
    settings: Object.fromEntries(set.filter(([name]) => name.startsWith('OMICRON_'))),
    runnerEnv: {
      ...toolsEnvironment(findTools(environment)),
      ...Object.fromEntries(set.filter(([name]) => RUNNER_VARIABLES.some(variable => variable === name))),
    },
  } satisfies Partial<StackOptions>;
}
