import { useEffect, useRef, useState } from 'preact/hooks';
import { CONSOLE_ROUTES, type SignInWays } from '../../../contract/console.ts';
import { call } from '../api.ts';
import { Failure, Loading } from '../notices.tsx';
import { messageOf, usePolled } from '../use-polled.ts';

/** Why an identity provider's answer was not taken, by the problem's code. */
const REFUSED: Readonly<Record<string, string>> = {
  forbidden: 'Your account has no role in this console. Ask its administrator for one.',
  issuer_unavailable: 'The identity provider does not answer. Try again.',
};

/** Signs in with what the fragment of a link holds, if it holds anything; else shows the ways to sign in. */
export function SignInPage({ url, onSignedIn }: { url: URL; onSignedIn: () => void }) {
  // On any other page it is a place in the page.
  const fragment = url.pathname === '/sign-in' ? url.hash.slice(1) : '';
  const refused = url.searchParams.get('refused');
  const [failure, setFailure] = useState(
    refused === null ? undefined : (REFUSED[refused] ?? 'The identity provider did not sign you in. Try again.'),
  );
  const [isTrying, setTrying] = useState(fragment !== '');
  const tried = useRef('');
  useEffect(() => {
    document.title = 'Sign in · omicron-browser';
    if (fragment === '' || tried.current === fragment) return;
    tried.current = fragment;
    history.replaceState(null, '', '/sign-in'); // what signs in leaves the address bar and the history
    const access_token = new URLSearchParams(fragment).get('access_token');
    call('POST', '/sign-in', access_token === null ? { token: fragment } : { access_token })
      .then(onSignedIn)
      .catch(error => setFailure(messageOf(error)))
      .finally(() => setTrying(false));
  }, [fragment, onSignedIn]);
  return (
    <main class="sign-in">
      <h1>Sign in to the console</h1>
      <Failure text={failure} />
      {isTrying ? <Loading what="the console" /> : <Ways url={url} />}
    </main>
  );
}

function Ways({ url }: { url: URL }) {
  const wanted = url.pathname === '/sign-in' ? '/' : url.pathname + url.search;
  const ways = usePolled('ways', 60_000, signal => call<SignInWays>('GET', '/sign-in', undefined, signal));
  if (!ways.value) return ways.error ? <Failure text={ways.error} /> : <Loading what="the ways to sign in" />;
  const has = (way: SignInWays['ways'][number]) => ways.value?.ways.includes(way);
  return (
    <>
      {has('oidc') && (
        <p>
          <a class="button" href={`${CONSOLE_ROUTES.oidc}?${new URLSearchParams({ to: wanted })}`}>
            Sign in with your organisation
          </a>
        </p>
      )}
      {has('platform') && (
        <p>Open the console from the application in which your agents work: you are signed in by it.</p>
      )}
      {has('link') && (
        <>
          <p>A link signs you in. In the folder of the stack, run:</p>
          <pre>npx omicron-browser console</pre>
          <p class="muted">
            The link works once, within ten minutes. Your sign-in lasts 12 hours or until the stack stops.
          </p>
        </>
      )}
    </>
  );
}
