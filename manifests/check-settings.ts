import { CONSOLE_SETTINGS } from '../console/settings.ts';
import { expiredFault, readAuthorities } from '../contract/authorities.ts';
import { ENV } from '../contract/names.ts';
import { CONTROLLER_SETTINGS } from '../controller/settings.ts';
import { EGRESS_SETTINGS } from '../egress/settings.ts';
import type { Variables } from '../process/environment.ts';
import { findUnknownSettings } from '../process/unknown-settings.ts';
import { RUNNER_SETTINGS } from '../runner/settings.ts';
import { SIDECAR } from '../runner/uploader/settings.ts';
import type { ConfiguredProgram, Environment } from './environment-type.ts';

/** The settings of each program, as it parses them when it starts. */
export const PROGRAM_SETTINGS: Readonly<Record<ConfiguredProgram, Variables>> = {
  controller: CONTROLLER_SETTINGS,
  egress: EGRESS_SETTINGS,
  console: CONSOLE_SETTINGS,
  runner: RUNNER_SETTINGS,
  uploader: SIDECAR,
};

/** Refuses further settings of an environment with which a program would not start: one line each, with what to write instead. */
export function checkSettings({ name: environment, settings = {} }: Pick<Environment, 'name' | 'settings'>): void {
  const faults = (Object.keys(settings) as ConfiguredProgram[]).flatMap(program =>
    Object.entries(settings[program] ?? {}).flatMap(([name, value]) => {
      const why = whyWrong(program, name, value);
      return why === undefined ? [] : [`  settings.${program}.${name} ${why}`];
    }),
  );
  if (faults.length > 0)
    throw new Error(`manifests/environments.ts: the environment ${environment} is wrong:\n${faults.join('\n')}`);
}

function whyWrong(program: ConfiguredProgram, name: string, value: unknown): string | undefined {
  const schema = schemaOf(program, name);
  if (schema === undefined) return `is no setting of the ${program}; ${whereItBelongs(name)}`;
  if (typeof value !== 'string') return `must be a string: write '${String(value)}'`;
  const parsed = schema.safeParse(value);
  if (!parsed.success) return parsed.error.issues.map(issue => issue.message).join('; ');
  // A runner leaves out an authority that expires after this.
  return name === ENV.chromiumCa ? expiredFault(readAuthorities(value), Date.now()) : undefined;
}

const schemaOf = (program: ConfiguredProgram, name: string) =>
  Object.values(PROGRAM_SETTINGS[program]).find(([variable]) => variable === name)?.[1];

function whereItBelongs(name: string): string {
  const programs = (Object.keys(PROGRAM_SETTINGS) as ConfiguredProgram[]).filter(each => schemaOf(each, name));
  return programs.length === 0
    ? `did you mean ${findUnknownSettings({ [name]: '' })[0]?.nearest}?`
    : `set it under ${programs.map(each => `settings.${each}`).join(' or ')}`;
}
