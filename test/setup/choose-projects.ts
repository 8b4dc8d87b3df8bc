/** The projects of `npm test`: decisions, the control plane, and each promise of the README once on real parts. */
const PROMISED = ['unit', 'control-plane', 'promises'];

/** vitest's options that take the next argument as their value, as far as people use them here. */
const TAKES_VALUE = new Set(['-t', '--testNamePattern', '--reporter', '--outputFile', '--maxWorkers', '--retry']);

/**
 * Arguments for vitest: those given, and the projects to run where neither a file nor a project was named. `--all` stands for all
 * tests of one machine, the searches whole.
 */
export function chooseProjects(given: readonly string[]): string[] {
  const args = given.filter(arg => arg !== '--all');
  const namesFile = args.some((arg, index) => !arg.startsWith('-') && !TAKES_VALUE.has(args[index - 1] ?? ''));
  const namesProject = args.some(arg => /^(-p|--project)(=|$)/.test(arg));
  if (given.includes('--all') || namesFile || namesProject) return args;
  return [...args, ...PROMISED.map(project => `--project=${project}`)];
}
