import type { LeaseKey } from '../../contract/lease-key.ts';
import { mcpTokenExpiryMs } from '../../contract/mcp-token.ts';
import { AUDIENCES } from '../../contract/names.ts';
import { type ControllerKeys, mcpToken, sha256Hex, signControllerToken } from '../../contract/tokens.ts';
import type { SessionRow } from '../store/rows.ts';
import type { Keys } from './assignment-tokens.ts';

/** Access to the `/mcp` of a lease. */
export interface McpAccess {
  /** Headers that a client sends, valid from now on; null while the lease has no browser. */
  headersOf(session: SessionRow): Record<string, string> | null;
  /** An address that holds the token, for a client that can send no header; null while the lease has no browser. */
  urlOf(session: SessionRow): string | null;
  /** Whether a bearer token is, or was, of this lease. */
  isOf(token: string, lease: LeaseKey): Promise<boolean>;
}

export interface McpAccessOptions {
  readonly keys: Keys;
  readonly publicKeys: ControllerKeys;
  /** How long a token lives (S7); undefined: as long as its lease, which has one. */
  readonly tokenSeconds: number | undefined;
}

export function mcpAccess({ keys, publicKeys, tokenSeconds }: McpAccessOptions): McpAccess {
  const tokenOf = (lease: LeaseKey): string =>
    tokenSeconds === undefined
      ? mcpToken(keys.derivation, lease)
      : signControllerToken(
          keys.signing,
          AUDIENCES.mcp(lease.runner_id),
          { ...lease },
          { nowMs: Date.now(), seconds: tokenSeconds },
        );
  const tokenNow = ({ id, epoch, status, runner_id }: SessionRow): string | null =>
    status !== 'ready' || runner_id === null ? null : tokenOf({ session_id: id, epoch, runner_id });
  return {
    headersOf(session) {
      const token = tokenNow(session);
      return token === null ? null : { Authorization: `Bearer ${token}` };
    },
    urlOf(session) {
      const token = tokenNow(session);
      return token && session.mcp_url && `${session.mcp_url}/${token}`;
    },
    async isOf(token, lease) {
      const derived = sha256Hex(mcpToken(keys.derivation, lease));
      return (await mcpTokenExpiryMs(token, lease, derived, publicKeys)) !== undefined;
    },
  };
}
