import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import * as z from 'zod';
import { CONSOLE_ROUTES } from '../../contract/console.ts';
import { OmicronError } from '../../contract/problem.ts';
import type { Clock } from '../../time/clock.ts';
import { hostCookie } from './host-cookie.ts';
import type { Begun, IdentityProvider } from './oidc.ts';
import { problemOf } from './problems.ts';
import type { SignIns } from './sign-ins.ts';

/** A person who takes longer at the provider begins again. */
const BEGUN_MS = 10 * 60_000;
/** Sign-ins that were begun and not finished; older ones are forgotten. */
const BEGUN_MAX = 10_000;

/** The page that a person wanted to see. */
const wanted = z.object({ to: z.string().max(2_000) }).catch({ to: '/' });

/** An address of the console alone: the link that names the page may come from anywhere. */
const addressOf = (page: string, own: URL): string => {
  const address = URL.parse(page, own.href);
  return address?.origin === own.origin ? address.href : own.href;
};

export interface OidcRoutes {
  provider: IdentityProvider;
  signIns: SignIns;
  url: URL;
  clock: Clock;
}

/** Signing in at the identity provider, and being signed out by it. */
export function oidcRoutes(app: FastifyInstance, { provider, signIns, url, clock }: OidcRoutes): void {
  const begun = new Map<string, Begun & { readonly expiresMs: number; readonly page: string }>();
  // A sign-in is finished by the browser that began it: its cookie holds the state, or another person's code could be slipped in.
  const cookie = hostCookie(url, '-oidc', 'Lax'); // the provider's redirect comes from another site

  function forget(): void {
    const nowMs = clock.nowMs();
    for (const [state, { expiresMs }] of begun) if (expiresMs <= nowMs || begun.size > BEGUN_MAX) begun.delete(state);
  }

  /** Where a person reads, in words, why they are not signed in. */
  const refusedAt = (error: unknown, log: FastifyBaseLogger) => `/sign-in?refused=${problemOf(error, log).code}`;

  app.get(CONSOLE_ROUTES.oidc, async (request, reply) => {
    try {
      const page = addressOf(wanted.parse(request.query).to, url);
      const { to, begun: mine } = await provider.begin();
      forget();
      begun.set(mine.state, { ...mine, page, expiresMs: clock.nowMs() + BEGUN_MS });
      return reply.header('set-cookie', cookie.set(mine.state, BEGUN_MS / 1_000)).redirect(to);
    } catch (error) {
      return reply.redirect(refusedAt(error, request.log));
    }
  });

  app.get(CONSOLE_ROUTES.oidcCallback, async (request, reply) => {
    const state = cookie.read(request.headers.cookie) ?? '';
    const mine = begun.get(state);
    begun.delete(state);
    try {
      if (mine === undefined || mine.expiresMs <= clock.nowMs())
        throw new OmicronError('unauthorized', 'This sign-in was not begun here, or took too long.');
      const person = await provider.finish(new URL(request.url, url).search, mine);
      return reply.header('set-cookie', [signIns.open(person), cookie.set('', 0)]).redirect(mine.page);
    } catch (error) {
      return reply.header('set-cookie', cookie.set('', 0)).redirect(refusedAt(error, request.log));
    }
  });

  app.register(async scope => {
    scope.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
      done(null, new URLSearchParams(String(body))),
    );
    scope.post(CONSOLE_ROUTES.oidcLogout, async (request, reply) => {
      const token = request.body instanceof URLSearchParams ? request.body.get('logout_token') : null;
      signIns.closeAll(await provider.loggedOut(token ?? ''));
      return reply.status(200).header('cache-control', 'no-store').send();
    });
  });
}
