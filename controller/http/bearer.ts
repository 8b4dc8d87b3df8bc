import type { FastifyRequest } from 'fastify';
import { type LeaseKey, leaseKey } from '../../contract/lease-key.ts';
import { OmicronError } from '../../contract/problem.ts';
import { type Actor, type ControllerKeys, verifyControllerToken, verifyServiceToken } from '../../contract/tokens.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The user that the service token is limited to; null: every user's. */
    userId: string | null;
    /** The sender of a service token, and the person for whom it acts; null on other routes, and before the token was verified. */
    caller: { act: Actor | undefined } | null;
    /** The lease of a runner's token; null on routes that take no such token. */
    lease: { claims: LeaseKey; expMs: number } | null;
  }
}

/** The token of an `Authorization: Bearer` header (RFC 6750). Throws `unauthorized` when there is none. */
export function bearerOf(request: FastifyRequest): string {
  const match = /^Bearer +([\w.~+/-]+=*)$/i.exec(request.headers.authorization ?? '');
  if (!match?.[1]) throw new OmicronError('unauthorized', 'Send the header "Authorization: Bearer <token>".');
  return match[1];
}

/** A hook that accepts service tokens only (O5). */
export const serviceOnly = (key: Uint8Array) => async (request: FastifyRequest) => {
  const { userId, act } = await verifyServiceToken(key, bearerOf(request));
  request.userId = userId ?? null;
  request.caller = { act };
};

/** Throws `forbidden` when the token is limited to another user. */
export function requireTokenUser(request: Pick<FastifyRequest, 'userId'>, userId: string): void {
  if (request.userId !== null && request.userId !== userId)
    throw new OmicronError('forbidden', 'The token is limited to another user; sign a token for this user.');
}

/** A hook that accepts only runners' tokens of these audiences, before a body is read. */
export const leaseOnly = (keys: ControllerKeys, ...audience: string[]) => ({
  onRequest: async (request: FastifyRequest) => {
    request.lease = await verifyControllerToken(keys, audience, bearerOf(request), leaseKey);
  },
});

/** The lease that `leaseOnly` read. */
export function leaseOf(request: FastifyRequest): { claims: LeaseKey; expMs: number } {
  if (!request.lease) throw new Error(`${request.url} has no hook that reads its token`);
  return request.lease;
}
