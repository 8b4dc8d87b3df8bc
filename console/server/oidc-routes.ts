import type { FastifyBaseLogger, FastifyInstance, FastifyReply } from 'fastify';
import * as z from 'zod';
import { CONSOLE_ROUTES } from '../../contract/console.ts';
import { OmicronError } from '../../contract/problem.ts';
import type { Clock } from '../../time/clock.ts';
import { hostCookie } from './host-cookie.ts';
import type { IdentityProvider, PendingSignIn } from './oidc.ts';
import { peerLimit } from './peer-limit.ts';
import { describeError } from './problems.ts';
import { sealedCookie } from './sealed-cookie.ts';
import type { SignIns } from './sign-ins.ts';

/** A person who takes longer at the provider begins again. */
const BEGUN_MS = 10 * 60_000;
/** Sign-ins that one peer begins, and finishes, in a minute: each of them is work, and the second a request to the provider. */
const PER_PEER = 600;
/** A browser keeps no cookie of more than 4,096 characters, its name and attributes included. */
const SEALED_CHARS_MAX = 3_800;

const begunSignIn = z.object({ state: z.string(), nonce: z.string(), verifier: z.string(), page: z.string() });

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
  /** Seals what a begun sign-in remembers. */
  secret: Uint8Array;
}

/** Signing in at the identity provider, and being signed out by it. */
export function oidcRoutes(app: FastifyInstance, { provider, signIns, url, clock, secret }: OidcRoutes): void {
  const begun = sealedCookie(secret, 'begun sign-in', begunSignIn);
  const mayBegin = peerLimit(clock, PER_PEER);
  const mayFinish = peerLimit(clock, PER_PEER);
  // A sign-in is finished by the browser that began it: its cookie holds the state, or another person's code could be slipped in.
  const cookie = hostCookie(url, '-oidc', 'Lax'); // the provider's redirect comes from another site

  /** With the page that was wanted, unless its address is too long for a cookie. */
  function seal(mine: PendingSignIn, page: string): string {
    const expiresMs = clock.nowMs() + BEGUN_MS;
    const sealed = begun.seal({ ...mine, page }, expiresMs);
    return sealed.length <= SEALED_CHARS_MAX ? sealed : begun.seal({ ...mine, page: url.href }, expiresMs);
  }

  /** A page for the person and a status for programs. */
  const refuseFlood = (reply: FastifyReply) =>
    reply
      .status(429)
      .headers({ 'retry-after': 60, 'cache-control': 'no-store' })
      .type('text/html; charset=utf-8')
      .send(
        '<!doctype html><title>Too many requests</title><meta http-equiv="refresh" content="0; url=/sign-in?refused=too_many_requests">',
      );

  /** The page that says why a person is not signed in. */
  const refusedAt = (error: unknown, log: FastifyBaseLogger) => `/sign-in?refused=${describeError(error, log).code}`;

  app.get(CONSOLE_ROUTES.oidc, async (request, reply) => {
    if (!mayBegin(request.ip)) return refuseFlood(reply);
    try {
      const page = addressOf(wanted.parse(request.query).to, url);
      const { to, begun: mine } = await provider.begin();
      return reply.header('set-cookie', cookie.set(seal(mine, page), BEGUN_MS / 1_000)).redirect(to);
    } catch (error) {
      return reply.redirect(refusedAt(error, request.log));
    }
  });

  app.get(CONSOLE_ROUTES.oidcCallback, async (request, reply) => {
    if (!mayFinish(request.ip)) return refuseFlood(reply);
    const mine = begun.open(cookie.read(request.headers.cookie) ?? '', clock.nowMs());
    try {
      if (mine === undefined)
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
