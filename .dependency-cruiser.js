// The "may import" column of the architecture: each room names the rooms it may reach; everything else is refused.
export const rooms = {
  contract: [],
  time: [],
  process: ['contract'],
  http: ['contract', 'time'],
  // an address that webhooks are sent to is judged as the proxy judges those of browsers
  controller: ['contract', 'http', 'process', 'time', 'egress/checked-connections', 'egress/cidrs'],
  runner: ['contract', 'http', 'process', 'time'],
  egress: ['contract', 'http', 'process', 'time'],
  client: ['contract', 'http', 'time'],
  console: ['contract', 'http', 'process', 'time', 'client'],
  // starts a controller, an egress proxy, the console and a runner as the local stack, and must find the browser that a runner would
  local: [
    'contract',
    'http',
    'process',
    'time',
    'client',
    'console/server',
    'controller/compose',
    'controller/settings',
    'controller/store',
    'runner/browser/browser-path',
    'runner/browser/trust-store',
  ],
  // reads audit files of a bucket
  cli: ['contract', 'http', 'process', 'time', 'client', 'local', 'controller/audit/read-bucket'],
  // the memory that kubelets keep from pods is part of how many runners fit a node
  infra: ['contract/manifests-path', 'contract/names', 'contract/node-capacity'],
  // settings of an environment are checked as the programs that get them parse them
  manifests: [
    'contract/manifests-path',
    'contract/names',
    'contract/authorities',
    'contract/last-day',
    'contract/quantity',
    'contract/runner-shapes',
    'contract/source-repository',
    'process',
    'controller/settings',
    'runner/settings',
    'runner/uploader/settings',
    'egress/settings',
    'console/settings',
  ],
  policies: ['contract'],
  images: ['contract/names'],
  // builds the wheel with the Python of the tests; the catalogue's entry offers the presets; what is signed is what the command verifies
  release: ['local/test-tools', 'contract/policy/presets', 'cli/verify', 'manifests'],
  // a deployment for tests and for the main job, with sites for browsers to visit
  cluster: ['contract', 'client', 'local', 'images', 'infra/root-application', 'manifests', 'test/site'],
};

const all = Object.keys(rooms);

// Inside runner/: what each group may reach. The files above the groups (lease.ts, runner.ts, main.ts ...) put them together;
// the uploader is a program of its own.
const runnerGroups = {
  browser: [],
  budget: [],
  files: [],
  reporting: [],
  secrecy: ['browser', 'reporting'],
  settle: ['browser'],
  capture: ['browser', 'secrecy'],
  recording: ['browser', 'capture'],
  live: ['browser', 'capture', 'reporting'],
  hibernation: ['browser', 'reporting'],
  results: [],
  snapshot: ['browser', 'budget'],
  // work on long texts and patterns, in a thread of its own
  'text-thread': ['budget', 'reporting', 'snapshot'],
  // all that knows the internals of Playwright MCP
  upstream: ['browser', 'results', 'snapshot'],
  acting: ['browser', 'files', 'results', 'secrecy', 'settle'],
  credentials: ['acting', 'secrecy'],
  pages: ['acting', 'browser', 'budget', 'secrecy'],
  // a tool knows neither how its calls run nor the protocol
  tools: [
    ...['acting', 'browser', 'budget', 'credentials', 'files', 'reporting', 'results', 'secrecy', 'settle', 'snapshot'],
    ...['text-thread', 'upstream'],
  ],
  calls: [
    ...['acting', 'browser', 'budget', 'files', 'live', 'pages', 'reporting', 'results', 'secrecy', 'settle'],
    ...['snapshot', 'text-thread', 'tools', 'upstream'],
  ],
  // the protocol alone
  mcp: ['budget', 'calls', 'files', 'tools'],
  uploader: ['files', 'reporting'],
};

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    ...Object.entries(rooms).map(([room, allowed]) => ({
      name: `${room}-imports`,
      comment: `${room}/ may import only itself${allowed.length ? ` and ${allowed.join(', ')}` : ''}`,
      severity: 'error',
      from: { path: `^${room}/` },
      to: {
        path: `^(${[...all, 'test'].join('|')})/`,
        pathNot: [room, ...allowed].map(path => (path.includes('/') ? `^${path}[./]` : `^${path}/`)),
      },
    })),
    ...Object.entries(runnerGroups).map(([group, allowed]) => ({
      name: `runner-${group}-imports`,
      comment: `runner/${group}/ may import, of runner/, only itself${allowed.length ? ` and ${allowed.join(', ')}` : ''}`,
      severity: 'error',
      from: { path: `^runner/${group}/` },
      to: { path: '^runner/', pathNot: [group, ...allowed].map(each => `^runner/${each}/`) },
    })),
    {
      name: 'runner-without-uploader',
      comment: 'runner and uploader share a container image, not a process',
      severity: 'error',
      from: { path: '^runner/', pathNot: '^runner/uploader/' },
      to: { path: '^runner/uploader/' },
    },
    {
      name: 'console-web-imports',
      comment: 'console/web/ runs in a browser: it imports the contract and itself',
      severity: 'error',
      from: { path: '^console/web/' },
      to: { path: '^(console/server|http|process)/' },
    },
    {
      name: 'core-imports-no-adapter',
      comment: "the controller's core decides; only main.ts and compose.ts build adapters",
      severity: 'error',
      from: { path: '^controller/(gateway|lease|loops|http)/' },
      to: {
        path: '(^controller/(runners|secrets|artifacts)/(?!port)|node_modules/(pg|@kubernetes|@electric-sql|@aws-sdk)/)',
      },
    },
    {
      name: 'core-imports-only-types-of-store',
      comment: "the store's types say what each step of the protocol does; only compose.ts builds them on a database",
      severity: 'error',
      from: { path: '^controller/(gateway|lease|loops|http)/' },
      to: { path: '^controller/store/', dependencyTypesNot: ['type-only'] },
    },
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'not-to-dev-dependency',
      severity: 'error',
      from: { path: '^(contract|http|process|time|controller|runner|egress|client|cli|local|manifests)/' },
      to: { dependencyTypes: ['npm-dev'] },
    },
    {
      name: 'not-unlisted',
      comment: 'a room imports only packages that its own package.json names',
      severity: 'error',
      from: { pathNot: '^node_modules' },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
    { name: 'not-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    // a file may import what its own room's package.json, or the root's, names
    combinedDependencies: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)node_modules/.*\\.d\\.ts|^[^/]+/dist/' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'types', 'default'] },
  },
};
