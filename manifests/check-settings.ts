import { BlockList, isIP } from 'node:net';
import { CONSOLE_SETTINGS } from '../console/settings.ts';
import { expiredFault, readAuthorities } from '../contract/authorities.ts';
import { ENV } from '../contract/names.ts';
import { CONTROLLER_SETTINGS } from '../controller/settings.ts';
import { EGRESS_SETTINGS } from '../egress/settings.ts';
import { EnvironmentError, type Variables } from '../process/environment.ts';
import { otlpUrl } from '../process/otlp-environment.ts';
import { findUnknownSettings } from '../process/unknown-settings.ts';
import { RUNNER_SETTINGS } from '../runner/settings.ts';
import { SIDECAR } from '../runner/uploader/settings.ts';
import type { ConfiguredProgram, Environment } from './environment-type.ts';
import { TELEMETRY_SETTINGS } from './telemetry-settings.ts';

/** The settings of each program, as it parses them when it starts. */
export const PROGRAM_SETTINGS: Readonly<Record<ConfiguredProgram, Variables>> = {
  controller: { ...CONTROLLER_SETTINGS, ...TELEMETRY_SETTINGS },
  egress: { ...EGRESS_SETTINGS, ...TELEMETRY_SETTINGS },
  console: { ...CONSOLE_SETTINGS, ...TELEMETRY_SETTINGS },
  runner: RUNNER_SETTINGS,
  uploader: SIDECAR,
};

/** Refuses further settings of an environment with which a program would not start: one line each, with what to write instead. */
export function checkSettings(env: Pick<Environment, 'name' | 'settings'> & CollectorParts): void {
  const { name: environment, settings = {} } = env;
  const ofPrograms = (Object.keys(settings) as ConfiguredProgram[]).flatMap(program =>
    Object.entries(settings[program] ?? {}).flatMap(([name, value]) => {
      const why = whyWrong(program, name, value);
      return why === undefined ? [] : [`  settings.${program}.${name} ${why}`];
    }),
  );
  const faults = [...ofPrograms, ...collectorFaults(env)];
  if (faults.length > 0)
    throw new Error(`manifests/environments.ts: the environment ${environment} is wrong:\n${faults.join('\n')}`);
}

type CollectorParts = Pick<Environment, 'collector'> & Partial<Pick<Environment, 'privateSites'>>;

/** Faults of a collector to which no program could send, or that pages could reach. */
function collectorFaults({ collector, privateSites }: CollectorParts): string[] {
  if (collector === undefined) return [];
  const { endpoint, to, ports, traceRatio } = collector;
  const faults: string[] = [];
  try {
    const url = otlpUrl('controller', 'TRACES', { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint || '""' });
    const host = new URL(url ?? '').hostname.replace(/^\[|\]$/g, '');
    const sites = privateSites?.cidrs.find(cidr => isIP(host) !== 0 && holds(cidr, host));
    if (sites !== undefined)
      faults.push(
        `collector.endpoint ${endpoint} is in ${sites} of privateSites, which pages may reach: take it out there`,
      );
  } catch (error) {
    if (!(error instanceof EnvironmentError)) throw error;
    faults.push(`collector.endpoint ${error.faults.map(([, why]) => why).join('; ')}`);
  }
  if (to.length === 0 || ports.length === 0)
    faults.push(
      'collector needs `to`, its pods or addresses, and `ports`, e.g. [4318]: NetworkPolicies open nothing else',
    );
  if (traceRatio !== undefined && !(Number(traceRatio) >= 0 && Number(traceRatio) <= 1 && traceRatio.trim() !== ''))
    faults.push(`collector.traceRatio "${traceRatio}" is no share of traces: write a number from 0 to 1, e.g. '0.1'`);
  return faults.map(fault => `  ${fault}`);
}

function holds(cidr: string, address: string): boolean {
  const [network = '', prefix] = cidr.split('/');
  const family = isIP(network) === 6 ? 'ipv6' : 'ipv4';
  const list = new BlockList();
  list.addSubnet(network, Number(prefix), family);
  return list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
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
