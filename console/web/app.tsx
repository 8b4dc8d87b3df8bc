import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { type Me, mayAs } from '../../contract/console.ts';
import type { PendingUserActionList } from '../../contract/user-action.ts';
import { callConsole, signedOut } from './api.ts';
import { followLinks, go, useLocation } from './location.ts';
import { MeContext } from './me.ts';
import { Failure, Loading } from './notices.tsx';
import { CredentialsPage } from './pages/credentials.tsx';
import { PoliciesPage } from './pages/policies.tsx';
import { PreviewPage } from './pages/preview.tsx';
import { ProfilesPage } from './pages/profiles.tsx';
import { ReplayPage } from './pages/replay.tsx';
import { RequestsPage } from './pages/requests.tsx';
import { SessionDetail } from './pages/session.tsx';
import { SessionsPage } from './pages/sessions.tsx';
import { SignInPage } from './pages/sign-in.tsx';
import { WebhooksPage } from './pages/webhooks.tsx';
import { type Polled, usePolled } from './use-polled.ts';

type Requests = Polled<PendingUserActionList['user_actions']>;

const REQUESTS_MS = 1_000;

/** The page of an address, its title, and the entry of the menu that it belongs to. */
function pageOf(url: URL, requests: Requests): { title: string; entry: string; page: ComponentChildren } {
  const [, id] = /^\/sessions\/([^/]+)$/.exec(url.pathname) ?? [];
  if (id !== undefined) return { title: 'Session', entry: '/', page: <SessionDetail id={id} requests={requests} /> };
  const [, recorded] = /^\/sessions\/([^/]+)\/replay$/.exec(url.pathname) ?? [];
  if (recorded !== undefined) return { title: 'Replay', entry: '/', page: <ReplayPage id={recorded} /> };
  switch (url.pathname) {
    case '/requests':
      return { title: 'Requests', entry: '/requests', page: <RequestsPage requests={requests} /> };
    case '/credentials':
      return { title: 'Credentials', entry: '/credentials', page: <CredentialsPage url={url} /> };
    case '/profiles':
      return { title: 'Profiles', entry: '/profiles', page: <ProfilesPage url={url} /> };
    case '/policies':
      return { title: 'Policies', entry: '/policies', page: <PoliciesPage url={url} /> };
    case '/webhooks':
      return { title: 'Webhooks', entry: '/webhooks', page: <WebhooksPage /> };
    default:
      return { title: 'Sessions', entry: '/', page: <SessionsPage url={url} /> };
  }
}

/** The whole console: the sign-in, or a page under the menu. */
export function App() {
  const url = useLocation();
  const [isSignedOut, setSignedOut] = useState(false);
  useEffect(() => {
    const note = () => setSignedOut(true);
    signedOut.addEventListener('signed-out', note);
    return () => signedOut.removeEventListener('signed-out', note);
  }, []);
  const [, previewed] = /^\/preview\/([^/]+)$/.exec(url.pathname) ?? [];
  if (previewed !== undefined && !isSignedOut) return <PreviewPage id={previewed} url={url} />;
  if (isSignedOut || url.pathname === '/sign-in')
    return (
      <SignInPage
        url={url}
        onSignedIn={() => {
          setSignedOut(false);
          go('/', { replace: true });
        }}
      />
    );
  return <SignedIn url={url} />;
}

function SignedIn({ url }: { url: URL }) {
  const requests = usePolled('requests', REQUESTS_MS, async signal => {
    const { user_actions } = await callConsole<PendingUserActionList>('GET', '/user-actions', undefined, signal);
    return user_actions;
  });
  const person = usePolled('me', 300_000, signal => callConsole<Me>('GET', '/me', undefined, signal));
  const me = person.value;
  const { title, entry, page } = pageOf(url, requests);
  const waiting = requests.value?.length ?? 0;
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ''}${title} · omicron-browser`;
  }, [title, waiting]);

  const item = (href: string, text: string, count = 0) => (
    <li>
      <a href={href} aria-current={entry === href ? 'page' : undefined}>
        {text}
        {count > 0 && (
          <span class="badge">
            {count}
            <span class="unseen"> waiting</span>
          </span>
        )}
      </a>
    </li>
  );
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions lint/a11y/useKeyWithClickEvents: links inside are what is clicked, by Enter too
    <div onClick={followLinks}>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header>
        <a class="name" href="/">
          <img src="/icon.svg" alt="" />
          omicron-browser
        </a>
        <nav aria-label="Pages">
          <ul>
            {item('/', 'Sessions')}
            {item('/requests', 'Requests', waiting)}
            {item('/credentials', 'Credentials')}
            {item('/profiles', 'Profiles')}
            {me && mayAs(me.role, 'admin') && item('/policies', 'Policies')}
            {me && mayAs(me.role, 'admin') && item('/webhooks', 'Webhooks')}
          </ul>
        </nav>
        <span class="who muted" title={me?.role}>
          {me?.name}
        </span>
        <button type="button" class="quiet" onClick={signOut}>
          Sign out
        </button>
      </header>
      <main id="content" tabIndex={-1} key={url.pathname}>
        {me ? <MeContext.Provider value={me}>{page}</MeContext.Provider> : <Unknown error={person.error} />}
      </main>
    </div>
  );
}

/** Until it is known who is signed in: pages differ by that. */
const Unknown = ({ error }: { error: string | undefined }) =>
  error === undefined ? <Loading what="the console" /> : <Failure text={error} />;

async function signOut() {
  await callConsole('DELETE', '/sign-in').catch(() => {}); // a console that has stopped has signed everyone out
  signedOut.dispatchEvent(new Event('signed-out'));
}
