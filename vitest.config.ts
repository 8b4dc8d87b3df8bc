import { defineConfig } from 'vitest/config';

/**
 * Tests without Postgres, browser and processes of their own; test/setup/unit.ts holds them to it. All others are integration
 * tests: those of these folders too that start a program (Pulumi's, promtool, a shell), and the model's that take a core half a
 * minute. Tests on a cluster have a configuration of their own, so that no cluster is touched by accident.
 */
const UNIT = [
  'test/cli/program.test.ts',
  'test/client/*.test.ts',
  'test/console/{login-form,one-time-links,sign-ins}.test.ts',
  'test/contract/!(tokens).test.ts',
  'test/contract/policy/*.test.ts',
  'test/controller/lease/!(get-or-create).test.ts',
  'test/controller/loops/!(reap).test.ts',
  'test/controller/runners/kubernetes-*.test.ts',
  'test/controller/secrets/{file,vault-kv}.test.ts',
  'test/docs/*.test.ts',
  'test/egress/{address,lease-watch,leases,proxy}.test.ts',
  'test/http/*.test.ts',
  'test/images/*.test.ts',
  'test/infra/!(program|user-data).test.ts',
  'test/manifests/!(alerts).test.ts',
  'test/model/!(holes|protocol).test.ts',
  'test/packages/*.test.ts',
  'test/policies/!(crossguard).test.ts',
  'test/runner/{phase,redeem,settings}.test.ts',
  'test/runner/browser/!(forwarder-users|injected-script).test.ts',
  'test/runner/capture/{guarded-frames,mask}.test.ts',
  'test/runner/live/{control,popups}.test.ts',
  'test/runner/recording/still-page.test.ts',
  'test/runner/{budget,snapshot}/*.test.ts',
  'test/runner/reporting/*.test.ts',
  'test/runner/secrecy/{held,keys,mask-fields,selectors}.test.ts',
  'test/setup/*.test.ts',
];

/** Tests of what deploys and what decides: with programs and Postgres, hardly any with a browser. */
const CONTROL_PLANE = 'test/{controller,infra,manifests,model,policies}/**/*.test.ts';

const INTEGRATION = {
  globalSetup: ['test/setup/postgres.ts'],
  pool: 'forks' as const,
  testTimeout: 60_000,
  hookTimeout: 120_000,
};

export default defineConfig({
  test: {
    // Two cores: browsers and Postgres share them; more workers than cores only make every wait longer.
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: 'unit',
          include: UNIT,
          setupFiles: ['test/setup/unit.ts'],
          pool: 'forks',
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      { test: { ...INTEGRATION, name: 'control-plane', include: [CONTROL_PLANE], exclude: UNIT } },
      {
        test: {
          ...INTEGRATION,
          name: 'integration',
          include: ['test/**/*.test.ts'],
          exclude: [...UNIT, CONTROL_PLANE, 'test/cluster/**'],
        },
      },
    ],
  },
});
