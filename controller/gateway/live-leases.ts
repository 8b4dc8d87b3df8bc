import type { LeaseKey } from '../../contract/lease-key.ts';
import { listQuery } from '../../contract/session.ts';
import { mcpToken } from '../../contract/tokens.ts';
import type { Directory } from '../store/directory.ts';

export interface LiveLeaseParts {
  readonly directory: Pick<Directory, 'list'>;
  /** The key of MCP tokens. */
  readonly derivation: Uint8Array;
}

/** Address of a lease, and the headers with which it is reached. */
export interface LeaseAddress {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The leases that a user has now, of one conversation or of all. None is begun or renewed by it. */
export async function liveLeases(
  { directory, derivation }: LiveLeaseParts,
  userId: string,
  conversation?: string,
): Promise<LeaseAddress[]> {
  const ready = { ...listQuery.parse({ status: 'ready' }), user_id: userId };
  const { sessions } = await directory.list(
    conversation === undefined ? ready : { ...ready, conversation_id: conversation },
  );
  return sessions.flatMap(({ id, epoch, runner_id, mcp_url }) => {
    if (runner_id === null || mcp_url === null) return [];
    const lease: LeaseKey = { session_id: id, epoch, runner_id };
    return [{ url: mcp_url, headers: { authorization: `Bearer ${mcpToken(derivation, lease)}` } }];
  });
}
