import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { BrowserSessions, PolicyOwner } from '../../client/browser-sessions.ts';
import { type LayeredPolicy, type PolicyDocument, parsePolicy } from '../../contract/policy/document.ts';
import { decideToolCall, explainToolCall } from '../../contract/policy/tools.ts';
import { OmicronError } from '../../contract/problem.ts';
import { UsageError } from './exit.ts';
import type { Output } from './output.ts';

/** Whose policy a command means; neither: the deployment's. */
export interface PolicyOptions {
  user?: string;
  session?: string;
}

function ownerOf({ user, session }: PolicyOptions): PolicyOwner {
  if (user !== undefined && session !== undefined) throw new UsageError('give --user or --session, not both.');
  if (session !== undefined) return { sessionId: session };
  return user === undefined ? {} : { userId: user };
}

/** `policy show`: the document of one layer, or every layer that applies to a session. */
export async function showPolicy(
  sessions: BrowserSessions,
  out: Output,
  options: PolicyOptions & { effective?: boolean },
): Promise<void> {
  if (!options.effective) {
    out.fields({ policy: await sessions.getPolicy(ownerOf(options)) });
    return;
  }
  if (options.session === undefined) throw new UsageError('--effective needs --session.');
  const effective = await sessions.getEffectivePolicy(options.session);
  out.rows(
    effective,
    ['LAYER', 'POLICY'],
    effective.layers.map(({ layer, policy }) => [layer, JSON.stringify(policy)]),
  );
}

/** `policy apply`: a document with a fault is refused here, by its path, and nothing changes. */
export async function applyPolicy(
  sessions: BrowserSessions,
  out: Output,
  file: string,
  options: PolicyOptions,
  stdin: NodeJS.ReadStream,
): Promise<void> {
  const policy = parsePolicy(json(file === '-' ? await text(stdin) : await readText(file), file));
  out.fields({ policy: await sessions.putPolicy(ownerOf(options), policy) });
}

/** `policy delete`: repeating it changes nothing. */
export async function deletePolicy(sessions: BrowserSessions, out: Output, options: PolicyOptions): Promise<void> {
  await sessions.deletePolicy(ownerOf(options));
  out.fields({ deleted: true });
}

/** `policy test`: what would become of a call, and which rule says so. */
export async function testPolicy(
  connect: () => Promise<BrowserSessions>,
  out: Output,
  tool: string,
  args: string | undefined,
  options: { session?: string; file?: string; untrusted?: boolean },
): Promise<void> {
  const { session, file } = options;
  if ((session === undefined) === (file === undefined)) throw new UsageError('give --session or --file.');
  const given = json(args ?? '{}', 'the arguments');
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new UsageError('the arguments are a JSON object, e.g. \'{"url": "https://example.com"}\'.');
  const layers: readonly LayeredPolicy[] =
    file === undefined
      ? (await (await connect()).getEffectivePolicy(session ?? '')).layers
      : [{ layer: 'deployment', policy: await readPolicy(file) }];
  const call = { tool, arguments: given as Record<string, unknown>, sessionId: session ?? '' }; // checked above
  const context = { untrusted: options.untrusted ?? false };
  const verdict = decideToolCall(layers, call, context);
  const { action, layer, index, reason } = verdict;
  const explained = explainToolCall(layers, call, context);
  out.rows(
    { action, layer, rule: index, reason, explained },
    [action.toUpperCase()],
    explained.map(line => [line]),
  );
}

const readPolicy = async (file: string): Promise<PolicyDocument> => parsePolicy(json(await readText(file), file));

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new UsageError(`${file} cannot be read.`, { cause });
  }
}

function json(source: string, what: string): unknown {
  try {
    return JSON.parse(source);
  } catch (cause) {
    throw new OmicronError(
      'invalid_request',
      `${what} is not JSON: ${cause instanceof Error ? cause.message : 'unreadable'}.`,
    );
  }
}
