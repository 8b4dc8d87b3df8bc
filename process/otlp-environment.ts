import * as z from 'zod';
import { EnvironmentError, httpUrl, integer } from './environment.ts';

// The standard variables that decide where traces and metrics go:
// https://opentelemetry.io/docs/specs/otel/protocol/exporter/#configuration-options

export type OtelEnvironment = Readonly<Record<string, string | undefined>>;

type Signal = 'TRACES' | 'METRICS';

/** Variables of a signal's exporter: its own, and the one for all signals. */
const namesOf = (signal: Signal, what: string) =>
  [`OTEL_EXPORTER_OTLP_${signal}_${what}`, `OTEL_EXPORTER_OTLP_${what}`] as const;

/** The first of these variables that is set. */
export function givenOf(
  environment: OtelEnvironment,
  names: readonly string[],
): { readonly name: string; readonly value: string } | undefined {
  for (const name of names) {
    const value = environment[name];
    if (value) return { name, value };
  }
  return undefined;
}

/** The address to which a signal is sent; undefined: it is off. Throws EnvironmentError. */
export function otlpUrl(program: string, signal: Signal, environment: OtelEnvironment): string | undefined {
  if (environment.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return undefined;
  const names = namesOf(signal, 'ENDPOINT');
  const endpoint = givenOf(environment, names);
  if (endpoint === undefined) return undefined;
  const exporter = `OTEL_${signal}_EXPORTER`;
  const exporters = environment[exporter] || 'otlp';
  if (exporters === 'none') return undefined;
  const refuse = (name: string, why: string): never => {
    throw new EnvironmentError(program, [[name, `is wrong: ${why}`]]);
  };
  if (exporters !== 'otlp') refuse(exporter, `must be otlp or none, not ${shown(exporters)}`);
  const protocol = givenOf(environment, namesOf(signal, 'PROTOCOL'));
  if (protocol !== undefined && protocol.value !== 'http/json')
    refuse(
      protocol.name,
      `${shown(protocol.value)} is not spoken here: unset it or write http/json, and name the collector's port of OTLP over HTTP (4318 by default)`,
    );
  if (!z.string().pipe(httpUrl()).safeParse(endpoint.value).success)
    refuse(
      endpoint.name,
      `${shown(endpoint.value)} is no http or https URL; write the collector's, e.g. http://collector:4318`,
    );
  const { username, password } = new URL(endpoint.value);
  if (username !== '' || password !== '')
    refuse(
      endpoint.name,
      `${shown(endpoint.value)} has a name or a password before its host; send a key by OTEL_EXPORTER_OTLP_HEADERS`,
    );
  const isOwn = endpoint.name === names[0];
  return isOwn ? endpoint.value : `${endpoint.value.replace(/\/+$/, '')}/v1/${signal.toLowerCase()}`;
}

/** Milliseconds after which a request to the collector is given up. */
export const exportTimeoutMs = (program: string, signal: Signal, environment: OtelEnvironment, otherwise: number) =>
  wholeNumber(program, environment, namesOf(signal, 'TIMEOUT'), { min: 1, max: 600_000, otherwise });

/** A variable that is a whole number. Throws EnvironmentError. */
export function wholeNumber(
  program: string,
  environment: OtelEnvironment,
  names: readonly string[],
  { min, max, otherwise }: { readonly min: number; readonly max: number; readonly otherwise: number },
): number {
  const given = givenOf(environment, names);
  if (given === undefined) return otherwise;
  const { data } = integer(min, max).safeParse(given.value);
  if (data !== undefined) return data;
  throw wrongValue(program, given, `must be a whole number from ${min} to ${max}`);
}

/** The fault of a variable that holds no key. */
export const wrongValue = (program: string, { name, value }: { name: string; value: string }, rule: string) =>
  new EnvironmentError(program, [[name, `is wrong: ${rule}, and is ${shown(value)}`]]);

/**
 * Pairs `a=b,c=d`, percent-encoded, of the first of these variables that is set; SDKs leave out silently what is no pair. Throws EnvironmentError,
 * without a value: it may be a key. https://opentelemetry.io/docs/specs/otel/protocol/exporter/#specifying-headers-via-environment-variables
 */
function namedPairs(program: string, environment: OtelEnvironment, names: readonly string[]): Record<string, string> {
  const { name = '', value = '' } = givenOf(environment, names) ?? {};
  const pairs = value.split(',').filter(pair => pair.trim() !== '');
  return Object.fromEntries(
    pairs.map((pair, index) => {
      const [, key, text = ''] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? [];
      const decoded = key === undefined ? undefined : decodePercents(text);
      if (key === undefined || decoded === undefined)
        throw new EnvironmentError(program, [
          [
            name,
            `is wrong: entry ${index + 1} of ${pairs.length} is no name=value; write name=value,name=value, with % and commas of a value percent-encoded`,
          ],
        ]);
      return [key, decoded];
    }),
  );
}

function decodePercents(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined; // a % that begins no code
  }
}

/** Headers of a signal's requests, e.g. a key for the collector. Throws EnvironmentError. */
export const exportHeaders = (program: string, signal: Signal, environment: OtelEnvironment) =>
  namedPairs(program, environment, namesOf(signal, 'HEADERS'));

/** Attributes of the deployment, which each span and metric has. Throws EnvironmentError. */
export const resourceAttributes = (program: string, environment: OtelEnvironment) =>
  namedPairs(program, environment, ['OTEL_RESOURCE_ATTRIBUTES']);

/** A value as a message may have it: without what may be a key. */
function shown(value: string): string {
  const plain = value.replace(/^([a-z][a-z\d+.-]*:\/\/)?.*@/is, '$1').replace(/[?#].*/s, '');
  return JSON.stringify(plain.slice(0, 200));
}
