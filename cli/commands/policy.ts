import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { type Command, Option } from 'commander';
import * as z from 'zod';
import type { PolicyOwner } from '../../client/browser-sessions.ts';
import { type LayeredPolicy, type PolicyDocument, parsePolicy } from '../../contract/policy/document.ts';
import { canonicalHost, withoutBrackets } from '../../contract/policy/hosts.ts';
import { POLICY_PRESETS, type PolicyPreset, PRESET_NAMES, withPresets } from '../../contract/policy/presets.ts';
import { compileSites, type SiteVerdict } from '../../contract/policy/sites.ts';
import { decideToolCall, explainToolCall } from '../../contract/policy/tools.ts';
import { OmicronError } from '../../contract/problem.ts';
import { parsePresets } from '../arguments.ts';
import { type Cli, connectController } from '../connect.ts';
import { UsageError } from '../exit.ts';

/** `policy ...`. */
export function policyCommands(program: Command, cli: Cli): void {
  const policy = program
    .command('policy')
    .description('manage the browsing policy of the deployment, of a user (--user) or of a session (--session)');
  const withOwner = (command: Command) =>
    command.addOption(new Option('--user <id>', 'user id').conflicts('session')).option('--session <id>', 'session id');
  withOwner(policy.command('show').description('show the policy'))
    .option('--effective', 'show every layer that applies to the session')
    .action(options => showPolicy(cli, options));
  policy
    .command('presets')
    .description('list the default policies that an installation may take with apply --preset')
    .action(() => listPresets(cli));
  withOwner(policy.command('apply').description('replace the policy with FILE (- for stdin), or add presets to it'))
    .argument('[file]', 'policy document (JSON)')
    .option('--preset <names>', `presets to add, joined by commas: ${PRESET_NAMES.join(', ')}`, parsePresets)
    .action((file, options) => applyPolicy(cli, file, options));
  withOwner(policy.command('delete').description('delete the policy')).action(options => deletePolicy(cli, options));
  policy
    .command('test')
    .description(
      'explain which rule decides a tool call and the site that it opens, under the policies of a session or of a user, or a file',
    )
    .argument('<tool>', 'tool name, e.g. browser_navigate')
    .argument('[arguments]', 'arguments of the call (JSON; default {})')
    .option('--session <id>', 'test every layer that applies to this session')
    .option('--user <id>', "test the deployment's policy and this user's")
    .option('--file <path>', "test this document as the deployment's policy; needs no controller")
    .option('--untrusted', 'assume that the agent has seen web content')
    .action((tool, args, options) => testPolicy(cli, tool, args, options));
}

/** Neither: the deployment's policy. */
interface OwnerOptions {
  user?: string;
  session?: string;
}

function ownerOf({ user, session }: OwnerOptions): PolicyOwner {
  if (session !== undefined) return { sessionId: session };
  return user === undefined ? {} : { userId: user };
}

async function showPolicy(cli: Cli, options: OwnerOptions & { effective?: boolean }): Promise<void> {
  const { effective, session } = options;
  if (effective && session === undefined) throw new UsageError('--effective needs --session.');
  const sessions = await connectController(cli);
  if (!effective || session === undefined)
    return cli.out.fields({ policy: await sessions.getPolicy(ownerOf(options)) });
  const found = await sessions.getEffectivePolicy(session);
  cli.out.rows(
    found,
    ['LAYER', 'POLICY'],
    found.layers.map(({ layer, policy }) => [layer, JSON.stringify(policy)]),
  );
}

function listPresets(cli: Cli): void {
  const presets = PRESET_NAMES.map(name => ({ name, ...POLICY_PRESETS[name] }));
  cli.out.rows(
    { presets },
    ['PRESET', 'WHAT IT DOES'],
    presets.map(({ name, title }) => [name, title]),
  );
}

async function applyPolicy(
  cli: Cli,
  file: string | undefined,
  { preset, ...owner }: OwnerOptions & { preset?: PolicyPreset[] },
): Promise<void> {
  if ((file === undefined) === (preset === undefined)) throw new UsageError('give a file or --preset.');
  if (file !== undefined) await replacePolicy(cli, file, owner);
  if (preset !== undefined) await addPresets(cli, preset, owner);
}

/** P4. Rules that the policy has are skipped, as are settings to which it has its own value. */
async function addPresets(cli: Cli, names: readonly PolicyPreset[], owner: OwnerOptions): Promise<void> {
  const sessions = await connectController(cli);
  const { policy, created, skipped } = withPresets(await sessions.getPolicy(ownerOf(owner)), names);
  if (created > 0) await sessions.putPolicy(ownerOf(owner), policy);
  cli.out.fields({ created, skipped });
}

/** An invalid document is refused here, with the path of each fault, and nothing changes. */
async function replacePolicy(cli: Cli, file: string, options: OwnerOptions): Promise<void> {
  const policy = parsePolicy(parseJson(file === '-' ? await text(cli.stdin) : await readText(file), file));
  const sessions = await connectController(cli);
  cli.out.fields({ policy: await sessions.putPolicy(ownerOf(options), policy) });
}

/** Repeating it changes nothing. */
async function deletePolicy(cli: Cli, options: OwnerOptions): Promise<void> {
  const sessions = await connectController(cli);
  await sessions.deletePolicy(ownerOf(options));
  cli.out.fields({ deleted: true });
}

interface TestOptions extends OwnerOptions {
  file?: string;
  untrusted?: boolean;
}

async function testPolicy(cli: Cli, tool: string, args: string | undefined, options: TestOptions): Promise<void> {
  const given = z.record(z.string(), z.unknown()).safeParse(parseJson(args ?? '{}', 'the arguments'));
  if (!given.success)
    throw new UsageError('the arguments must be a JSON object, e.g. \'{"url": "https://example.com"}\'.');
  const layers = await layersOf(cli, options);
  const call = { tool, arguments: given.data, sessionId: options.session ?? '' };
  const context = { untrusted: options.untrusted ?? false };
  const { action, layer, index, reason } = decideToolCall(layers, call, context);
  const site = judgeSite(layers, given.data.url);
  const isRefused = action === 'allow' && site?.allowed === false;
  const explained = [...explainToolCall(layers, call, context), ...(site ? [describeSite(site)] : [])];
  const verdict = isRefused
    ? { action: 'block', layer: site.layer, rule: null, code: site.code, reason: site.reason }
    : { action, layer, rule: index, reason };
  cli.out.rows(
    { ...verdict, explained },
    [verdict.action.toUpperCase()],
    explained.map(line => [line]),
  );
}

/** Undefined: the call opens no http address. */
function judgeSite(layers: readonly LayeredPolicy[], address: unknown): SiteVerdict | undefined {
  const url = URL.parse(String(address));
  const host = url && canonicalHost(withoutBrackets(url.hostname));
  if (!host || !/^https?:$/.test(url.protocol)) return undefined;
  const scheme = url.protocol === 'https:' ? 'https' : 'http';
  const judge = compileSites(layers.map(({ layer, policy: { sites } }) => ({ layer, sites })));
  return judge({ scheme, host, port: Number(url.port) || (scheme === 'https' ? 443 : 80) });
}

const describeSite = (site: SiteVerdict): string =>
  site.allowed
    ? 'the site: no policy refuses it; the egress proxy still refuses addresses of internal networks'
    : `the site: ${site.code}, ${site.reason}`;

async function layersOf(cli: Cli, { session, user, file }: TestOptions): Promise<readonly LayeredPolicy[]> {
  if ([session, user, file].filter(each => each !== undefined).length !== 1)
    throw new UsageError('give --session, --user or --file.');
  if (file !== undefined) return [{ layer: 'deployment', policy: await readPolicy(file) }];
  const sessions = await connectController(cli);
  if (session !== undefined) return (await sessions.getEffectivePolicy(session)).layers;
  const layers = [
    { layer: 'deployment', policy: await sessions.getPolicy({}) },
    { layer: 'user', policy: await sessions.getPolicy(ownerOf({ user })) },
  ] as const;
  return layers.flatMap(({ layer, policy }) => (policy === null ? [] : [{ layer, policy }]));
}

const readPolicy = async (file: string): Promise<PolicyDocument> => parsePolicy(parseJson(await readText(file), file));

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new UsageError(`${file} cannot be read.`, { cause });
  }
}

function parseJson(source: string, what: string): unknown {
  try {
    return JSON.parse(source);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : 'unreadable';
    throw new OmicronError('invalid_request', `${what} is not JSON: ${why}.`);
  }
}
