import type { FastifyRequest } from 'fastify';
import { OmicronError } from '../../contract/problem.ts';
import { verifyServiceToken } from '../../contract/tokens.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The user that the service token is limited to; null: every user's. */
    userId: string | null;
  }
}

/** The token of an `Authorization: Bearer` header (RFC 6750). Throws `unauthorized` when there is none. */
export function bearerOf(request: FastifyRequest): string {
  const match = /^Bearer +([\w.~+/-]+=*)$/i.exec(request.headers.authorization ?? '');
  if (!match?.[1]) throw new OmicronError('unauthorized', 'Send the header "Authorization: Bearer <token>".');
  return match[1];
}

/** A hook that lets only the API in (O5). */
export const serviceOnly = (key: Uint8Array) => async (request: FastifyRequest) => {
  const { userId } = await verifyServiceToken(key, bearerOf(request));
  request.userId = userId ?? null;
};

/** Throws `forbidden` when the token is limited to another user. */
export function mayActFor(request: Pick<FastifyRequest, 'userId'>, userId: string): void {
  if (request.userId !== null && request.userId !== userId)
    throw new OmicronError('forbidden', 'The token is limited to another user; sign one for this user.');
}
