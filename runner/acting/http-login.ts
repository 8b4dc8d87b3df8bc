import type { CDPSession, Page } from 'playwright-core';
import { sessionOf } from '../browser/page-session.ts';

/** A username and a password for one origin. */
export interface HttpLogin {
  readonly origin: string;
  readonly username: string;
  readonly password: string;
}

/**
 * Runs work in which the browser answers this origin's request for a username and a password by HTTP. The values are given to the browser
 * alone: they are in no address, and no page sees them. The browser keeps them for the origin until its lease ends.
 */
export async function withHttpLogin<T>(page: Page, login: HttpLogin, work: () => Promise<T>): Promise<T> {
  const session = await sessionOf(page);
  const stop = answerFor(session, login);
  await session.send('Fetch.enable', { handleAuthRequests: true, patterns: [{ urlPattern: `${login.origin}/*` }] });
  try {
    return await work();
  } finally {
    stop();
    await session.send('Fetch.disable').catch(() => undefined); // the tab is gone
  }
}

function answerFor(session: CDPSession, { origin, username, password }: HttpLogin): () => void {
  // A site that asks again does not take what it was given.
  const given = new Set<string>();
  const onPaused = ({ requestId }: { requestId: string }) =>
    void session.send('Fetch.continueRequest', { requestId }).catch(() => undefined);
  const onAuth = ({
    requestId,
    authChallenge,
  }: {
    requestId: string;
    authChallenge: { readonly source?: string; readonly origin: string };
  }) => {
    const isOwn = authChallenge.source !== 'Proxy' && authChallenge.origin === origin && !given.has(requestId);
    given.add(requestId);
    const answer = isOwn
      ? ({ response: 'ProvideCredentials', username, password } as const)
      : ({ response: 'CancelAuth' } as const);
    void session.send('Fetch.continueWithAuth', { requestId, authChallengeResponse: answer }).catch(() => undefined); // the request is gone
  };
  session.on('Fetch.requestPaused', onPaused).on('Fetch.authRequired', onAuth);
  return () => {
    session.off('Fetch.requestPaused', onPaused).off('Fetch.authRequired', onAuth);
  };
}
