import { describe, expect, test } from 'vitest';
import { RUNNER_TEMPLATE } from '../../contract/names.ts';
import { PROGRAM_SETTINGS } from '../../manifests/check-settings.ts';
import type { ConfiguredProgram, Environment, FurtherSettings } from '../../manifests/environment-type.ts';
import { ENVIRONMENTS } from '../../manifests/environments.ts';
import { renderObjects } from '../../manifests/render.ts';
import type { Variables } from '../../process/environment.ts';
import { testCertificate } from '../site/certificate.ts';

// Every setting of every program can be set in an environment: by a field, in a Secret, or under `settings`. The exceptions stand here.

/** Settings that no environment has otherwise: what other manifests rely on, and what no pod uses. */
const FIXED: Readonly<Record<ConfiguredProgram, readonly string[]>> = {
  controller: [
    ...['OMICRON_PORT', 'OMICRON_PROVIDER', 'OMICRON_DATA_DIR', 'OMICRON_EGRESS_URL', 'OMICRON_POD_ADDRESS'],
    ...['OMICRON_PUBLIC_URL', 'OMICRON_LOCAL_RUNNER_MEMORY_MB', 'OMICRON_KERNEL_URL', 'OMICRON_KERNEL_API_KEY'],
    'OMICRON_SECRET_FILE_KEY',
  ],
  egress: ['OMICRON_CONTROLLER_URL', 'OMICRON_EGRESS_PORT', 'OMICRON_EGRESS_ADMIN_PORT'],
  console: ['OMICRON_CONTROLLER_URL', 'OMICRON_CONSOLE_PORT', 'OMICRON_CONSOLE_ADMIN_PORT'],
  runner: [
    ...['OMICRON_RUNNER_ID', 'OMICRON_CONTROLLER_URL', 'OMICRON_CONTROLLER_JWKS', 'OMICRON_RUNNER_HOST'],
    ...['OMICRON_RUNNER_PORT', 'OMICRON_PORT_FILE', 'OMICRON_OUTPUT_DIR', 'OMICRON_REMOTE_BROWSER'],
    ...['OMICRON_CHROMIUM_SANDBOX', 'OMICRON_EGRESS_URL'],
  ],
  uploader: ['OMICRON_RUNNER_ID', 'OMICRON_CONTROLLER_URL', 'OMICRON_OUTPUT_DIR', 'OMICRON_EGRESS_URL'],
};

const env: Environment = {
  ...ENVIRONMENTS.prod,
  limits: { ...ENVIRONMENTS.prod.limits, poolIdle: 2 }, // below the samples of its maximum
  console: {
    url: 'https://console.example.com',
    ingress: { from: { podSelector: {} } },
    platform: { issuer: 'https://login.example.com' },
  },
};

/** Values that some setting takes; every schema of a setting without a field takes one of them that is not its default. */
const SAMPLES = [
  '7',
  '700',
  '0.9',
  'off',
  'on',
  'evict_oldest',
  'calls',
  'core',
  'debug',
  '10.0.0.2',
  '10.0.0.0/8',
].concat(
  [
    'a-prefix-',
    'https://a.example/mcp',
    'http://a.example',
    `${'A'.repeat(43)}=`,
    's3://a-bucket',
    '/dev/null',
    'none',
  ],
  [
    'team=browsers',
    'ssrf',
    'words',
    '{"a-site":["https://a.example"]}',
    testCertificate('people', { authority: true }).cert,
  ],
);

function sampleFor(name: string, schema: Variables[string][1]): string {
  const byDefault = JSON.stringify(schema.safeParse(undefined).data);
  const found = SAMPLES.find(sample => {
    const parsed = schema.safeParse(sample);
    return parsed.success && JSON.stringify(parsed.data) !== byDefault;
  });
  if (found === undefined) throw new Error(`no sample is a value of ${name}: add one to SAMPLES`);
  return found;
}

/** The object that gives a program its environment, as JSON. */
function environmentOf(program: ConfiguredProgram, rendered: ReturnType<typeof render>): string {
  const configMaps = { controller: 'browser-session-controller', egress: 'egress-proxy', console: 'browser-console' };
  const found = rendered.find(({ kind, metadata }) =>
    program === 'runner' || program === 'uploader'
      ? kind === 'PodTemplate'
      : kind === 'ConfigMap' && metadata.name === configMaps[program],
  );
  return JSON.stringify(found);
}

const render = (program: ConfiguredProgram, settings: FurtherSettings) => [
  ...renderObjects({ ...env, settings: { [program]: settings } }).values(),
];

/** Why `settings` may not have this variable. */
function refusalOf(program: ConfiguredProgram, name: string): string | undefined {
  try {
    render(program, { [name]: 'x' });
    return undefined;
  } catch (error) {
    return (error as Error).message.split(`settings cannot have ${name}: `)[1] ?? String(error);
  }
}

describe.each(Object.entries(PROGRAM_SETTINGS) as [ConfiguredProgram, Variables][])('%s', (program, variables) => {
  test.each(Object.values(variables).map(([name, schema]) => ({ name, schema })))('$name', ({ name, schema }) => {
    const refusal = refusalOf(program, name);
    if (FIXED[program].includes(name)) return expect(refusal).toMatch(/^(?!a Secret|set the field)/);
    // The compiler checks that the environment has the field.
    if (refusal !== undefined) return expect(refusal).toMatch(/^(a Secret holds it|set the field \S+ instead)\.$/);
    const value = sampleFor(name, schema);
    const given = environmentOf(program, render(program, { [name]: value }));
    expect(given).toContain(
      given.includes('"PodTemplate"')
        ? `{"name":"${name}","value":${JSON.stringify(value)}}`
        : `"${name}":${JSON.stringify(value)}`,
    );
  });

  test('has exceptions of its own settings only', () => {
    const names = Object.values(variables).map(([name]) => name);
    expect(FIXED[program].filter(name => !names.includes(name))).toEqual([]);
  });
});

interface PodTemplate {
  spec: { terminationGracePeriodSeconds: number };
}
/** A PodTemplate, or a Deployment. */
interface PodOwner {
  template?: PodTemplate;
  spec?: { template: PodTemplate };
}

test('a pod has the time to stop that its settings ask for', () => {
  const grace = (program: ConfiguredProgram, settings: FurtherSettings, object: string) => {
    const found = render(program, settings).find(
      ({ kind, metadata }) => ['Deployment', 'PodTemplate'].includes(kind) && metadata.name === object,
    );
    const { template, spec } = found as PodOwner;
    return (template ?? spec?.template)?.spec.terminationGracePeriodSeconds;
  };
  expect(grace('controller', { OMICRON_START_SECONDS: '300' }, 'browser-session-controller')).toBeGreaterThan(300);
  expect(grace('egress', { OMICRON_EGRESS_GRACE_SECONDS: '90.5' }, 'egress-proxy')).toBeGreaterThan(90);
  expect(grace('uploader', { OMICRON_UPLOAD_SECONDS: '300' }, RUNNER_TEMPLATE)).toBe(336);
});
