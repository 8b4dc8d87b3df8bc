import { ENV, RUNNER_VARIABLES } from '../contract/names.ts';
import { OmicronError } from '../contract/problem.ts';
import { pickVariables, wordsSchema } from '../process/environment.ts';
import { EXPORT_VARIABLES, TRACING_VARIABLES } from '../process/tracing.ts';
import { authoritiesProblem, findProblems, findTools, toolsEnvironment } from './machine-tools.ts';
import type { StackOptions } from './stack.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The parts of a stack's options that the environment decides: database, egress, controller settings, runners. Throws
 * `not_configured` where its runners could not start a browser.
 */
export function stackEnvironment(environment: Environment) {
  checkTools(environment);
  return {
    databaseUrl: environment[ENV.databaseUrl] || undefined,
    egress:
      environment[ENV.egress] === 'off'
        ? 'off'
        : { allowedCidrs: wordsSchema().parse(environment[ENV.egressAllowedCidrs]) },
    settings: pickVariables(
      environment,
      Object.keys(environment).filter(name => name.startsWith('OMICRON_')),
    ),
    egressEnv: pickVariables(environment, EXPORT_VARIABLES),
    runnerEnv: {
      ...pickVariables(environment, [...RUNNER_VARIABLES, ...TRACING_VARIABLES]),
      ...toolsEnvironment(findTools(environment)),
    },
  } satisfies Partial<StackOptions>;
}

function checkTools(environment: Environment): void {
  const { browser, ffmpeg } = findProblems(environment);
  const isHere = (environment[ENV.provider] ?? 'local') === 'local';
  const authorities =
    isHere || !environment[ENV.chromiumCa]
      ? authoritiesProblem(environment)
      : `Unset ${ENV.chromiumCa}: a browser elsewhere has the authorities of its service.`;
  const problems = [isHere ? browser : undefined, environment[ENV.ffmpegPath] ? ffmpeg : undefined, authorities];
  const found = problems.filter(problem => problem !== undefined);
  if (found.length > 0) throw new OmicronError('not_configured', found.join(' '));
}
