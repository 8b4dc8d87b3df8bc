import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import { CONSOLE_ROUTES, type Me, type SignInWays } from '../../contract/console.ts';
import type { ConsoleLink } from '../../contract/console-link.ts';
import { AUDIENCES } from '../../contract/names.ts';
import { OmicronError } from '../../contract/problem.ts';
import { verifyServiceToken } from '../../contract/tokens.ts';
import type { OneTimeLinks } from './one-time-links.ts';
import type { SignedInPerson, SignIns } from './sign-ins.ts';

const platformToken = z.strictObject({ access_token: z.string().min(1).max(16_384) });
const signInRequest = z.union([z.strictObject({ token: z.string().min(1).max(256) }), platformToken]);

/** A person who holds an access token of the platform. Throws `unauthorized`. */
export type VouchForToken = (accessToken: string) => Promise<SignedInPerson>;

export interface SignInRoutes {
  serviceKey: Uint8Array;
  signIns: SignIns;
  /** One-time links, each with what makes its URL; undefined: people sign in by an identity provider only. */
  links: { readonly tokens: OneTimeLinks; newLink(): string } | undefined;
  vouchForToken: VouchForToken | undefined;
  hasProvider: boolean;
}

/** The ways to sign in, signing out, and new links for the command. */
export function signInRoutes(app: FastifyInstance, parts: SignInRoutes): void {
  const { serviceKey, signIns, links, vouchForToken, hasProvider } = parts;
  let operators = 0;

  app.get(CONSOLE_ROUTES.signIn, async (): Promise<SignInWays> => {
    const ways: SignInWays['ways'][number][] = [];
    if (links) ways.push('link');
    if (hasProvider) ways.push('oidc');
    if (vouchForToken) ways.push('platform');
    return { ways };
  });

  app.post(CONSOLE_ROUTES.signIn, async (request, reply) => {
    const { data } = signInRequest.safeParse(request.body);
    let person: SignedInPerson | undefined;
    if (data && 'access_token' in data) person = await vouchForToken?.(data.access_token);
    else if (data && links?.tokens.redeem(data.token)) {
      operators += 1;
      person = { id: `link ${randomUUID()}`, name: `operator ${operators}`, role: 'admin', userId: null }; // the reader of the stack's terminal owns it
    }
    if (person === undefined)
      throw new OmicronError('unauthorized', 'This link was opened before, or is too old. Ask for a new one.');
    return reply.status(204).header('set-cookie', signIns.open(person)).send();
  });

  app.post(CONSOLE_ROUTES.account, async (request): Promise<Me> => {
    const { data } = platformToken.safeParse(request.body);
    const person = data && (await vouchForToken?.(data.access_token));
    if (!person)
      throw new OmicronError(
        'unauthorized',
        'This link does not sign in here. Open the console from your application.',
      );
    return { name: person.name, role: person.role, user_id: person.userId };
  });

  app.delete(CONSOLE_ROUTES.signIn, async (request, reply) =>
    reply.status(204).header('set-cookie', signIns.close(request.headers.cookie)).send(),
  );

  if (links === undefined) return;
  app.post(CONSOLE_ROUTES.links, async (request): Promise<ConsoleLink> => {
    const [, token = ''] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
    await verifyServiceToken(serviceKey, token, AUDIENCES.console);
    return { link: links.newLink() };
  });
}
