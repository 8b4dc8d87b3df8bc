import { readFile } from 'node:fs/promises';
import type * as z from 'zod';
import { CONSOLE_SETTINGS } from '../../../console/settings.ts';
import { ENV } from '../../../contract/names.ts';
import { CONTROLLER_SETTINGS } from '../../../controller/settings.ts';
import { EGRESS_SETTINGS } from '../../../egress/settings.ts';
import type { Variables } from '../../../process/environment.ts';
import { RUNNER_SETTINGS } from '../../../runner/settings.ts';
import { SIDECAR } from '../../../runner/uploader/settings.ts';
import { commentsOfFields } from './comments.ts';
import { code, page, table } from './table.ts';

interface Program {
  readonly title: string;
  readonly intro: string;
  readonly file: string;
  readonly variables: Variables;
}

const PROGRAMS: readonly Program[] = [
  {
    title: 'Controller',
    intro:
      'On a cluster they are `settings.controller` of an environment in `manifests/environments.ts`, the secret ones keys of its Secret; on the local stack, variables of `omicron-browser up`.',
    file: 'controller/settings.ts',
    variables: CONTROLLER_SETTINGS,
  },
  {
    title: 'Runner',
    intro:
      'None is secret. On a cluster they are `settings.runner` of an environment; on the local stack, variables of `omicron-browser up`, which sets those that have no default.',
    file: 'runner/settings.ts',
    variables: RUNNER_SETTINGS,
  },
  {
    title: 'Uploader',
    intro: 'The sidecar of a runner. The manifests set all of them.',
    file: 'runner/uploader/settings.ts',
    variables: SIDECAR,
  },
  {
    title: 'Egress proxy',
    intro: 'On a cluster they are `settings.egress` of an environment.',
    file: 'egress/settings.ts',
    variables: EGRESS_SETTINGS,
  },
  {
    title: 'Console',
    intro: 'On a cluster they are `console` of an environment. The console of the local stack needs none.',
    file: 'console/settings.ts',
    variables: CONSOLE_SETTINGS,
  },
];

/** Variables that no table of settings parses: each is read as it is. */
const OTHERS: readonly [title: string, rows: readonly (readonly [name: string, meaning: string])[]][] = [
  [
    'Applications and the command',
    [
      [ENV.controllerUrl, 'The controller that SDK and command call.'],
      [ENV.serviceSecret, 'Its service secret. Keep it on a server.'],
      [ENV.sessionsEnabled, '`true`, `1`, `on` or `yes`: `browserSource` leases browsers from the controller.'],
      [ENV.mcpUrlFallback, 'Otherwise: one Playwright MCP server that all callers of `browserSource` share.'],
      [ENV.mcpUser, 'The user of `omicron-browser mcp`, as `--user`; `desktop` by default.'],
      [
        ENV.mcpPolicyPresets,
        "Presets of policies for the browsers of `omicron-browser mcp`, as `--policy-presets`; the deployment's by default.",
      ],
      [ENV.folder, 'Folder of the local stack, as `--folder`; `.omicron` by default.'],
      [ENV.egress, '`off`: the local stack has no egress proxy, and pages reach this machine and its network.'],
    ],
  ],
  [
    'The AWS SDK of controller and uploader',
    [
      [ENV.awsStsEndpoint, 'An STS server other than that of AWS.'],
      [ENV.awsRoleArn, 'The role that the service account of the pod may assume; EKS sets it.'],
      [ENV.awsWebIdentityTokenFile, 'The file with the token of that service account; EKS sets it.'],
    ],
  ],
];

/** The value that a setting takes, in the words of the error for a wrong one. */
function acceptedValue(schema: z.ZodType): string {
  const message = schema.safeParse('· ?').error?.issues[0]?.message;
  if (message === undefined) return 'text';
  const [value = ''] = message.replace(/^must (be|have) /, '').split(/ \([A-Z_]+\)$|: "/);
  return value.replaceAll('<', '\\<');
}

function defaultValue(schema: z.ZodType): string {
  const { success, data } = schema.safeParse(undefined);
  if (!success) return '**required**';
  if (typeof data === 'boolean') return code(data ? 'on' : 'off');
  if (data === undefined || (Array.isArray(data) && data.length === 0)) return '';
  return code(typeof data === 'object' ? JSON.stringify(data) : String(data));
}

async function section({ title, intro, file, variables }: Program): Promise<string[]> {
  const comments = commentsOfFields(await readFile(file, 'utf8'));
  const rows = Object.entries(variables).map(([field, [name, schema]]) => {
    const meaning = comments.get(field);
    if (meaning === undefined) throw new Error(`${file}: ${field} has no comment that says what it is for.`);
    return [code(name), acceptedValue(schema), defaultValue(schema), meaning];
  });
  return [title, intro, table(['variable', 'value', 'default', 'meaning'], rows)];
}

/** docs/reference/settings.md. */
export async function settingsPage(): Promise<string> {
  return page(
    'the settings of each program',
    'Settings',
    'Environment variables of every program. An empty variable counts as missing; a program that cannot start names every variable that is missing or wrong. Values of secrets are never printed.',
    [
      ...(await Promise.all(PROGRAMS.map(section))),
      ...OTHERS.map(([title, rows]) => [
        title,
        table(
          ['variable', 'meaning'],
          rows.map(([name, meaning]) => [code(name), meaning]),
        ),
      ]),
    ],
  );
}
