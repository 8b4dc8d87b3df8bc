import { useState } from 'preact/hooks';
import type { CredentialList } from '../../../contract/secrets.ts';
import { callConsole, encodePath } from '../api.ts';
import { Confirm } from '../confirm.tsx';
import { CredentialForm } from '../credential-form.tsx';
import { CredentialTestForm } from '../credential-test.tsx';
import { go } from '../location.ts';
import { useMay } from '../me.ts';
import { Empty, Failure, Loading, Success } from '../notices.tsx';
import { messageOf, usePolled } from '../use-polled.ts';
import { UserChoice } from '../user-choice.tsx';

/** The credentials of one user: which sites, under which names, and where each may be filled. Values are never shown. */
export function CredentialsPage({ url }: { url: URL }) {
  const userId = url.searchParams.get('user') ?? '';
  return (
    <>
      <h1>Credentials</h1>
      <UserChoice
        userId={userId}
        label="User"
        onChoose={chosen =>
          go(chosen === '' ? '/credentials' : `/credentials?${new URLSearchParams({ user: chosen })}`)
        }
      />
      {userId === '' ? (
        <Empty title="Whose credentials?">
          <p>Enter the id of a user, as your platform knows it. Only agents of this user can use the credentials.</p>
        </Empty>
      ) : (
        <UserCredentials key={userId} userId={userId} />
      )}
    </>
  );
}

/** A user's credentials as they are now, the one whose form is open, and what became of the last change. */
function useCredentials(userId: string) {
  const known = usePolled(`credentials ${userId}`, 15_000, async signal => {
    const { sites } = await callConsole<CredentialList>(
      'GET',
      encodePath`/users/${userId}/credentials`,
      undefined,
      signal,
    );
    return sites;
  });
  /** The credential whose form is open, and which one. */
  const [opened, setOpened] = useState<{ site: string; form: 'edit' | 'test' } | null>(null);
  const [done, setDone] = useState<string>();
  const [failure, setFailure] = useState<string>();
  const saved = (text: string) => {
    setDone(text);
    setFailure(undefined);
    setOpened(null);
    known.refresh();
  };
  const remove = (site: string) => async () => {
    try {
      await callConsole('DELETE', encodePath`/users/${userId}/credentials/${site}`);
      saved(`The credential of ${site} is deleted.`);
    } catch (error) {
      setFailure(messageOf(error));
    }
  };
  return { known, opened, setOpened, done, failure, saved, remove };
}

function UserCredentials({ userId }: { userId: string }) {
  const { known, opened, setOpened, done, failure, saved, remove } = useCredentials(userId);
  const mayChange = useMay('operator');
  if (!known.value) return known.error ? <Failure text={known.error} /> : <Loading what="credentials" />;
  const sites = known.value;
  return (
    <>
      <Failure text={failure ?? known.error} />
      <Success text={done} />
      {sites.length === 0 && (
        <Empty title={`${userId} has no credential`}>
          <p>Add one below. The agent writes its names; the browser gets the values, which no model sees.</p>
        </Empty>
      )}
      {sites.length > 0 && (
        <ul class="rows">
          {sites.map(({ site, secret_names, client_certificate, url, filled_on, problem }) => (
            <li key={site}>
              <strong>{site}</strong>
              {secret_names.length > 0 && (
                <div>
                  The agent writes{' '}
                  {secret_names.map((name, at) => (
                    <>
                      {at > 0 && ' and '}
                      <code>{name}</code>
                    </>
                  ))}
                  .
                </div>
              )}
              {client_certificate === true && <div>The browser shows its client certificate to the site.</div>}
              <div>{problem === null ? `Filled on ${filled_on.join(', ')}.` : `Filled nowhere: ${problem}.`}</div>
              {opened?.site === site && opened.form === 'edit' && (
                <CredentialForm
                  userId={userId}
                  site={site}
                  url={url}
                  onSaved={() => saved(`The credential of ${site} is replaced.`)}
                  onCancel={() => setOpened(null)}
                />
              )}
              {opened?.site === site && opened.form === 'test' && (
                <CredentialTestForm userId={userId} site={site} filledOn={filled_on} onClose={() => setOpened(null)} />
              )}
              {mayChange && opened?.site !== site && (
                <p class="actions">
                  <button
                    type="button"
                    class="quiet"
                    aria-label={`Edit ${site}`}
                    onClick={() => setOpened({ site, form: 'edit' })}
                  >
                    Edit
                  </button>
                  {secret_names.length > 0 && (
                    <button
                      type="button"
                      class="quiet"
                      aria-label={`Test ${site}`}
                      onClick={() => setOpened({ site, form: 'test' })}
                    >
                      Test
                    </button>
                  )}
                  <Confirm
                    label={`Delete ${site}`}
                    question="Leases that start from now on will not have it. Delete it?"
                    onConfirm={remove(site)}
                  />
                </p>
              )}
            </li>
          ))}
        </ul>
      )}
      {mayChange && (
        <>
          <h2>Add a credential</h2>
          <CredentialForm
            key={sites.length}
            userId={userId}
            onSaved={site => saved(`The credential of ${site} is stored.`)}
          />
        </>
      )}
    </>
  );
}
