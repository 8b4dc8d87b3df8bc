import { PRESET_NAMES } from '../contract/policy/presets.ts';

/** The publisher: the namespace of the MCP registry is proven by this account. */
const OWNER = 'example';
export const REPOSITORY = `https://github.com/${OWNER}/omicron-browser`;
export const COMMAND_PACKAGE = '@omicron-browser/cli';
/** Workspaces that are published on npm, in the order in which each needs the one before. */
export const NPM_PACKAGES: readonly string[] = ['omicron-browser', COMMAND_PACKAGE];
/** npm's arguments that pack a workspace into a folder, and print the name of the file. */
export const packArguments = (workspace: string, folder: string): string[] => [
  'pack',
  '--silent',
  '--workspace',
  workspace,
  '--pack-destination',
  folder,
];
export const REGISTRY_NAME = `io.github.${OWNER}/omicron-browser`;

/** Names that documents and manifests lead to: a stranger who takes one before us can publish under it. */
export const NAMES_TO_RESERVE: readonly string[] = [
  `the repository ${REPOSITORY} (OWNER in release/catalogue.ts; Argo CD reads it too: GITOPS in manifests/environments.ts)`,
  'the npm package omicron-browser',
  `the npm scope of ${COMMAND_PACKAGE}`,
  'the PyPI project omicron-browser',
  `the MCP registry's ${REGISTRY_NAME}, which the owner of the repository has`,
];

const TITLE = 'omicron-browser';
const DESCRIPTION = 'An isolated browser for each conversation, leased from a self-hosted controller';

/** Variables from which the command finds the controller. */
const CONTROLLER = [
  {
    name: 'OMICRON_CONTROLLER_URL',
    description: 'Address of the controller; without it, the local stack of this machine',
    isSecret: false,
  },
  {
    name: 'OMICRON_SERVICE_JWT_SECRET',
    description: 'The secret under which calls to the controller are signed',
    isSecret: true,
  },
] as const;

const USER = { name: 'OMICRON_MCP_USER', description: 'User whose browsers are leased', isSecret: false } as const;

/** P4: asked for at the installation; its sessions have them, so that they leave with it. */
const PRESETS = {
  name: 'OMICRON_MCP_POLICY_PRESETS',
  description: `Presets of policies for its browsers, joined by commas: ${PRESET_NAMES.join(', ')}; empty: the deployment's alone`,
  isSecret: false,
} as const;

/** `server.json` of the MCP registry: the command as a stdio server. <https://modelcontextprotocol.io/registry/package-types> */
export const serverJson = (version: string) => ({
  $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
  name: REGISTRY_NAME,
  title: TITLE,
  description: DESCRIPTION,
  version,
  repository: { url: REPOSITORY, source: 'github' },
  packages: [
    {
      registryType: 'npm',
      identifier: COMMAND_PACKAGE,
      version,
      runtimeHint: 'npx',
      transport: { type: 'stdio' },
      packageArguments: [
        { type: 'positional', value: 'mcp' },
        { type: 'named', name: '--user', description: 'User whose browser is leased', isRequired: false },
      ],
      environmentVariables: [...CONTROLLER, PRESETS].map(({ name, description, isSecret }) => ({
        name,
        description,
        isSecret,
        isRequired: false,
      })),
    },
  ],
});

/** The seven tools that the platform's agents know (003). */
const ARGUMENTS = (version: string) => ['--yes', `${COMMAND_PACKAGE}@${version}`, 'mcp', '--toolset', 'compat'];
/** The command needs Node.js 24 and no browser: browsers are the controller's. */
const IMAGE = 'docker.io/library/node:24-bookworm-slim';

/**
 * Entries for the catalogue of an MCP platform: `local`, a pod of the platform's that runs the command over stdio, with what is asked
 * for at its installation; and `gateway`, the address of the controller's own gateway.
 */
export const catalogueEntries = (version: string) => ({
  local: {
    name: TITLE,
    version,
    description: DESCRIPTION,
    serverType: 'local',
    localConfig: {
      dockerImage: IMAGE,
      command: 'npx',
      arguments: ARGUMENTS(version),
      environment: [...CONTROLLER, USER, PRESETS].map(({ name, isSecret }) => ({
        key: name,
        type: isSecret ? 'secret' : 'plain_text',
        promptOnInstallation: true,
      })),
      transportType: 'stdio',
    },
  },
  gateway: {
    name: TITLE,
    description: DESCRIPTION,
    transportType: 'streamable-http',
    httpPort: 8080,
    httpPath: '/mcp',
    category: 'system',
    isSystemServer: false,
  },
});
