import { useEffect, useRef, useState } from 'preact/hooks';
import { CONSOLE_ROUTES, type Me, type SignInWays } from '../../../contract/console.ts';
import { callConsole } from '../api.ts';
import { Failure, Loading } from '../notices.tsx';
import { messageOf, usePolled } from '../use-polled.ts';

/** Why an identity provider's answer was not taken, by the problem's code. */
const REFUSED: Readonly<Record<string, string>> = {
  forbidden: 'Your account has no role in this console. Ask its administrator for one.',
  too_many_requests: 'Too many people sign in from this address. Try again in a minute.',
  issuer_unavailable: 'The identity provider does not answer. Try again.',
};

/** A token of the platform that a link brought, and whose it is. */
interface Brought {
  readonly access_token: string;
  readonly account: Me;
}

/**
 * Signs in with the one-time link that was opened; asks first where the link has a token of the platform, for anyone who has an
 * account there can write such a link, and would see what is typed under their account. Else shows the ways to sign in.
 */
export function SignInPage({ url, onSignedIn }: { url: URL; onSignedIn: () => void }) {
  // On any other page it is a place in the page.
  const fragment = url.pathname === '/sign-in' ? url.hash.slice(1) : '';
  const refused = url.searchParams.get('refused');
  const [failure, setFailure] = useState(
    refused === null ? undefined : (REFUSED[refused] ?? 'The identity provider did not sign you in. Try again.'),
  );
  const [isTrying, setTrying] = useState(fragment !== '');
  const [brought, setBrought] = useState<Brought>();
  const tried = useRef('');
  useEffect(() => {
    document.title = 'Sign in · omicron-browser';
    if (fragment === '' || tried.current === fragment) return;
    tried.current = fragment;
    history.replaceState(null, '', '/sign-in'); // what signs in leaves the address bar and the history
    const access_token = new URLSearchParams(fragment).get('access_token');
    setTrying(true);
    const trying =
      access_token === null
        ? callConsole('POST', '/sign-in', { token: fragment }).then(onSignedIn)
        : callConsole<Me>('POST', '/sign-in/account', { access_token }).then(account =>
            setBrought({ access_token, account }),
          );
    trying.catch(error => setFailure(messageOf(error))).finally(() => setTrying(false));
  }, [fragment, onSignedIn]);
  return (
    <main class="sign-in">
      <h1>Sign in to the console</h1>
      <Failure text={failure} />
      {isTrying && <Loading what="the console" />}
      {!isTrying && brought && (
        <Question
          {...brought}
          onCancel={() => setBrought(undefined)}
          onSignIn={() =>
            callConsole('POST', '/sign-in', { access_token: brought.access_token })
              .then(onSignedIn)
              .catch(error => setFailure(messageOf(error)))
          }
        />
      )}
      {!isTrying && !brought && <Ways url={url} />}
    </main>
  );
}

function Question({ account, onSignIn, onCancel }: Brought & { onSignIn: () => Promise<void>; onCancel: () => void }) {
  return (
    <>
      <p>
        This link signs you in as <strong>{account.name}</strong> ({account.role}). Continue only if that is your own
        account: its owner sees what you do in it.
      </p>
      <p>
        <button type="button" onClick={() => void onSignIn()}>
          Sign in as {account.name}
        </button>{' '}
        <button type="button" class="quiet" onClick={onCancel}>
          Cancel
        </button>
      </p>
    </>
  );
}

function Ways({ url }: { url: URL }) {
  const wanted = url.pathname === '/sign-in' ? '/' : url.pathname + url.search;
  const ways = usePolled('ways', 60_000, signal => callConsole<SignInWays>('GET', '/sign-in', undefined, signal));
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
          <pre>npx --no-install omicron-browser console</pre>
          <p class="muted">
            The link works once, within ten minutes. Your sign-in lasts 12 hours or until the stack stops.
          </p>
        </>
      )}
    </>
  );
}
