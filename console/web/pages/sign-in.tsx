import { useEffect, useRef, useState } from 'preact/hooks';
import { call } from '../api.ts';
import { Failure, Loading } from '../notices.tsx';
import { messageOf } from '../use-polled.ts';

/** Signs in with the token of the link, if there is one; else says how to get a link. */
export function SignInPage({ token, onSignedIn }: { token: string; onSignedIn: () => void }) {
  const [failure, setFailure] = useState<string>();
  const [isTrying, setTrying] = useState(token !== '');
  const tried = useRef('');
  useEffect(() => {
    document.title = 'Sign in · omicron-browser';
    if (token === '' || tried.current === token) return;
    tried.current = token;
    history.replaceState(null, '', '/sign-in'); // the token leaves the address bar and the history
    call('POST', '/sign-in', { token })
      .then(onSignedIn)
      .catch(error => setFailure(messageOf(error)))
      .finally(() => setTrying(false));
  }, [token, onSignedIn]);
  return (
    <main class="sign-in">
      <h1>Sign in to the console</h1>
      <Failure text={failure} />
      {isTrying ? (
        <Loading what="the console" />
      ) : (
        <>
          <p>A link signs you in. In the folder of the stack, run:</p>
          <pre>npx omicron-browser console</pre>
          <p class="muted">
            The link works once, within ten minutes. Your sign-in lasts 12 hours or until the stack stops.
          </p>
        </>
      )}
    </main>
  );
}
