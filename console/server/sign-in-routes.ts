import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import { CONSOLE_ROUTES, type ConsoleLink } from '../../contract/console.ts';
import { AUDIENCES } from '../../contract/names.ts';
import { OmicronError } from '../../contract/problem.ts';
import { verifyServiceToken } from '../../contract/tokens.ts';
import type { OneTimeLinks } from './one-time-links.ts';
import type { SignIns } from './sign-ins.ts';

const signInRequest = z.strictObject({ token: z.string().min(1).max(256) });

export interface SignInRoutes {
  serviceKey: Uint8Array;
  links: OneTimeLinks;
  signIns: SignIns;
  /** The link with a new token. */
  newLink: () => string;
}

/** Signing in with a link, signing out, and new links for the command. */
export function signInRoutes(app: FastifyInstance, { serviceKey, links, signIns, newLink }: SignInRoutes): void {
  app.post(CONSOLE_ROUTES.signIn, async (request, reply) => {
    const parsed = signInRequest.safeParse(request.body);
    if (!parsed.success || !links.redeem(parsed.data.token))
      throw new OmicronError('unauthorized', 'This link was opened before, or is too old. Ask for a new one.');
    return reply.status(204).header('set-cookie', signIns.open()).send();
  });

  app.delete(CONSOLE_ROUTES.signIn, async (request, reply) =>
    reply.status(204).header('set-cookie', signIns.close(request.headers.cookie)).send(),
  );

  app.post(CONSOLE_ROUTES.links, async (request): Promise<ConsoleLink> => {
    const [, token = ''] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
    await verifyServiceToken(serviceKey, token, AUDIENCES.console);
    return { link: newLink() };
  });
}
