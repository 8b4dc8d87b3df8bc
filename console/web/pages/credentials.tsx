import { useState } from 'preact/hooks';
import type { PolicyDocument } from '../../../contract/policy/document.ts';
import type { CredentialList } from '../../../contract/secrets.ts';
import { call, path } from '../api.ts';
import { Confirm } from '../confirm.tsx';
import { CredentialForm } from '../credential-form.tsx';
import { go } from '../location.ts';
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

interface Known {
  sites: CredentialList['sites'];
  policy: PolicyDocument | null;
}

function UserCredentials({ userId }: { userId: string }) {
  const known = usePolled<Known>(`credentials ${userId}`, 15_000, async signal => {
    const [{ sites }, { policy }] = await Promise.all([
      call<CredentialList>('GET', path`/users/${userId}/credentials`, undefined, signal),
      call<{ policy: PolicyDocument | null }>('GET', path`/users/${userId}/policy`, undefined, signal),
    ]);
    return { sites, policy };
  });
  const [editing, setEditing] = useState<string | null>(null);
  const [done, setDone] = useState<string>();
  const [failure, setFailure] = useState<string>();
  const saved = (text: string) => {
    setDone(text);
    setFailure(undefined);
    setEditing(null);
    known.refresh();
  };
  const remove = (site: string) => async () => {
    try {
      await call('DELETE', path`/users/${userId}/credentials/${site}`);
      saved(`The credential of ${site} is deleted.`);
    } catch (error) {
      setFailure(messageOf(error));
    }
  };
  if (!known.value) return known.error ? <Failure text={known.error} /> : <Loading what="credentials" />;
  const { sites, policy } = known.value;
  const targets = (site: string) => policy?.credentials[site] ?? [];
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
          {sites.map(({ site, secret_names, url, filled_on, problem }) => (
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
              <div>{problem === null ? `Filled on ${filled_on.join(', ')}.` : `Filled nowhere: ${problem}.`}</div>
              {editing === site ? (
                <CredentialForm
                  userId={userId}
                  site={site}
                  url={url}
                  targets={targets(site)}
                  onSaved={() => saved(`The credential of ${site} is replaced.`)}
                  onCancel={() => setEditing(null)}
                />
              ) : (
                <p class="actions">
                  <button type="button" class="quiet" aria-label={`Edit ${site}`} onClick={() => setEditing(site)}>
                    Edit
                  </button>
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
      <h2>Add a credential</h2>
      <CredentialForm
        key={sites.length}
        userId={userId}
        targets={[]}
        onSaved={site => saved(`The credential of ${site} is stored.`)}
      />
    </>
  );
}
