import { ENV, RUNNER_VARIABLES } from '../contract/names.ts';
import { pickVariables, wordsSchema } from '../process/environment.ts';
import { findTools, toolsEnvironment } from './machine-tools.ts';
import type { StackOptions } from './stack.ts';

/** `off`: no egress proxy, so that pages reach this machine and its network. */
const EGRESS_SWITCH = 'OMICRON_EGRESS';

/** The parts of a stack's options that the environment decides: database, egress, controller settings, runners. */
export const stackEnvironment = (environment: Readonly<Record<string, string | undefined>>) =>
  ({
    databaseUrl: environment[ENV.databaseUrl] || undefined,
    egress:
      environment[EGRESS_SWITCH] === 'off'
        ? 'off'
        : { allowedCidrs: wordsSchema().parse(environment[ENV.egressAllowedCidrs]) },
    settings: pickVariables(
      environment,
      Object.keys(environment).filter(name => name.startsWith('OMICRON_')),
    ),
    runnerEnv: {
      ...pickVariables(environment, RUNNER_VARIABLES),
      ...toolsEnvironment(findTools(environment)),
    },
  }) satisfies Partial<StackOptions>;
