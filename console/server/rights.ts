import type { FastifyInstance, FastifyRequest } from 'fastify';
import { CONSOLE_ROUTES, type ConsoleRole, type Me, mayAs } from '../../contract/console.ts';
import { OmicronError } from '../../contract/problem.ts';
import type { SignIn, SignIns } from './sign-ins.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The sender; null on routes that need no sign-in. */
    signIn: SignIn | null;
  }
  interface FastifyContextConfig {
    /** The role that the route needs. Unless it says so, reading needs a viewer and anything else an operator. */
    role?: ConsoleRole;
  }
}

/** They are how a person gets a sign-in, so they need none. */
const OPEN_ROUTES: readonly string[] = Object.values(CONSOLE_ROUTES).filter(route => route !== CONSOLE_ROUTES.me);

/** Refuses requests without a sign-in, and those that this person's role may not make. */
export function checkRights(app: FastifyInstance, signIns: SignIns): void {
  app.decorateRequest('signIn', null);
  app.addHook('onRequest', async request => {
    const { url: route = '', config } = request.routeOptions;
    if (!route.startsWith('/api/') || OPEN_ROUTES.includes(route)) return;
    const signIn = signIns.of(request.headers.cookie);
    if (signIn === undefined)
      throw new OmicronError(
        'unauthorized',
        'You are not signed in. Open a new link to the console, or sign in again.',
      );
    request.signIn = signIn;
    const needed = config.role ?? (request.method === 'GET' ? 'viewer' : 'operator');
    if (!mayAs(signIn.role, needed))
      throw new OmicronError('forbidden', `This needs the role ${needed}; you are signed in as ${signIn.role}.`);
  });

  app.get(CONSOLE_ROUTES.me, async (request): Promise<Me> => {
    const { name, role, userId } = signInOf(request);
    return { name, role, user_id: userId };
  });
}

/** The person who sent a request to a route that needs a sign-in. */
export function signInOf(request: FastifyRequest): SignIn {
  if (request.signIn === null) throw new Error(`${request.url} needs no sign-in`);
  return request.signIn;
}

/** Throws `forbidden` where the person has the sessions of another user only. */
export function requireOwnUser({ userId }: SignIn, wanted: string): void {
  if (userId !== null && userId !== wanted) throw new OmicronError('forbidden', 'You may act for yourself only.');
}
