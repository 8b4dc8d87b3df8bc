// Which project of vitest a test file belongs to: vitest.config.ts runs them, .ci/run asks for those that a change can reach.

/**
 * Tests without Postgres, browser and processes of their own; test/setup/unit.ts holds them to it. All others are integration
 * tests: those of these folders too that start a program (Pulumi's, promtool, a shell), and the model's that take a core half a
 * minute. They share one process and its modules, so a file that depends on the state of a module (config.test.ts: the words of zod's
 * errors) is not among them. Tests on a cluster have a configuration of their own, so that no cluster is touched by accident.
 */
export const UNIT = [
  'test/cli/{conversation-browsers,cost,help,policy,program}.test.ts',
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
  'test/infra/!(config|program|user-data).test.ts',
  'test/manifests/!(alerts|dashboard-answers).test.ts',
  'test/model/!(holes|protocol|worlds).test.ts',
  'test/packages/*.test.ts',
  'test/policies/!(crossguard).test.ts',
  'test/process/*.test.ts',
  'test/runner/{runner-logs,settings}.test.ts',
  'test/runner/browser/!(forwarder-users|injected-script|window-pictures).test.ts',
  'test/runner/calls/!(browser-work).test.ts',
  'test/runner/calls/notes/*.test.ts',
  'test/runner/credentials/*.test.ts',
  'test/runner/capture/{guarded-frames,mask}.test.ts',
  'test/runner/lease/*.test.ts',
  'test/runner/live/{control,popups}.test.ts',
  'test/runner/recording/still-page.test.ts',
  'test/runner/{budget,tools}/*.test.ts',
  'test/runner/snapshot/!(later-listeners).test.ts',
  'test/runner/reporting/*.test.ts',
  'test/runner/secrecy/{held,keys,mask-fields,selectors}.test.ts',
  'test/setup/*.test.ts',
];

/**
 * Tests of what deploys and what decides: with programs and Postgres. Those of them that need browsers, or wait many seconds by their
 * nature, are integration tests.
 */
export const CONTROL_PLANE =
  'test/{controller,infra,manifests,model,policies}/**/!(event-rate|giving-way|kernel|local-processes|pool-demand|replicas|slow-stop|waits).test.ts';

/** Each promise of the README, shown once on real parts. */
export const PROMISES = [
  // the main job: a lease, a login, a recording, the same browser again
  'test/local/stack.test.ts',
  // isolation, reuse, expiry, races and artifacts, on two controllers
  'test/acceptance/acceptance.test.ts',
  // a lease that ends says why, to every connected client
  'test/local/ended-lease.test.ts',
  // logins that the model never sees; profiles that keep them
  'test/runner/login.test.ts',
  'test/profiles/logins.test.ts',
  // one way out
  'test/egress/{browser,ssrf}.test.ts',
  // tools and their budget, policies, files
  'test/runner/{tokens,policy}.test.ts',
  'test/local/files.test.ts',
  // a person looks on and takes over
  'test/console/live.test.ts',
  // both SDKs, the command, foreign MCP clients
  'test/python/package.test.ts',
  'test/cli/command.test.ts',
  'test/runner/clients.test.ts',
];

/** Searches for cases that no test names, by seeds and lists that grow: test/search.ts slices them. */
export const SEARCHES = [
  'test/cases/cases-{1,2,3}.test.ts',
  'test/controller/http/schemathesis.test.ts',
  'test/egress/browser-{documents,requests}.test.ts',
  'test/model/{holes,worlds}.test.ts',
  'test/profiles/histories.test.ts',
  'test/prove/{faults,histories}.test.ts',
  'test/runner/{bounds,held-thread,hostile-pages,product-voice}.test.ts',
  'test/runner/live/races.test.ts',
  'test/runner/reporting/spellings-search.test.ts',
  'test/runner/secrecy/{attacks,fuzz,pictures,pictures-hostile,ways-out-both,ways-out-compat}.test.ts',
];
