import { useState } from 'preact/hooks';
import type { Profile, ProfileDetail } from '../../../contract/profile.ts';
import { callConsole, encodePath } from '../api.ts';
import { Confirm } from '../confirm.tsx';
import { go } from '../location.ts';
import { useMay } from '../me.ts';
import { Empty, Failure, Loading, Success } from '../notices.tsx';
import { ProfileCheckForm } from '../profile-check.tsx';
import { dayAndTime, formatMegabytes, formatRelative } from '../time.ts';
import { messageOf, usePolled } from '../use-polled.ts';
import { UserChoice } from '../user-choice.tsx';

/** The profiles of one user: where their browsers stay logged in, and the versions that are kept. */
export function ProfilesPage({ url }: { url: URL }) {
  const userId = url.searchParams.get('user') ?? '';
  return (
    <>
      <h1>Profiles</h1>
      <UserChoice
        userId={userId}
        label="User"
        onChoose={chosen => go(chosen === '' ? '/profiles' : `/profiles?${new URLSearchParams({ user: chosen })}`)}
      />
      {userId === '' ? (
        <Empty title="Whose profiles?">
          <p>Enter the id of a user, as your platform knows it. A profile keeps the logins of that user's browsers.</p>
        </Empty>
      ) : (
        <UserProfiles key={userId} userId={userId} />
      )}
    </>
  );
}

function UserProfiles({ userId }: { userId: string }) {
  const profiles = usePolled(`profiles ${userId}`, 5_000, async signal => {
    const at = encodePath`/users/${userId}/profiles`;
    return (await callConsole<{ profiles: Profile[] }>('GET', at, undefined, signal)).profiles;
  });
  const mayChange = useMay('operator');
  const [opened, setOpened] = useState<string>();
  const [checked, setChecked] = useState<string>();
  const [done, setDone] = useState<string>();
  const [failure, setFailure] = useState<string>();
  const act = (text: string, work: () => Promise<unknown>) => async () => {
    setDone(undefined);
    setFailure(undefined);
    try {
      await work();
      setDone(text);
    } catch (error) {
      setFailure(messageOf(error));
    }
    profiles.refresh();
  };
  if (!profiles.value) return profiles.error ? <Failure text={profiles.error} /> : <Loading what="profiles" />;
  return (
    <>
      <Failure text={failure ?? profiles.error} />
      <Success text={done} />
      {profiles.value.length === 0 && (
        <Empty title={`${userId} has no profile`}>
          <p>A lease that names one makes it, and keeps its logins there for the next:</p>
          <pre>npx --no-install omicron-browser session start --user {userId} --conversation chat-1 --profile work</pre>
        </Empty>
      )}
      <ul class="rows">
        {profiles.value.map(profile => (
          <li key={profile.name}>
            <ProfileRow profile={profile} />
            <p class="actions">
              <button
                type="button"
                class="quiet"
                aria-expanded={opened === profile.name}
                onClick={() => setOpened(opened === profile.name ? undefined : profile.name)}
              >
                Versions
              </button>
              {mayChange && profile.version > 0 && (
                <button
                  type="button"
                  class="quiet"
                  aria-expanded={checked === profile.name}
                  onClick={() => setChecked(checked === profile.name ? undefined : profile.name)}
                >
                  Check login
                </button>
              )}
              {mayChange && profile.writer_session_id !== null && (
                <button
                  type="button"
                  class="quiet"
                  onClick={act(`${profile.name} is saved.`, () =>
                    callConsole('POST', encodePath`/users/${userId}/profiles/${profile.name}/save`),
                  )}
                >
                  Save now
                </button>
              )}
              {mayChange && (
                <Confirm
                  label={`Delete ${profile.name}`}
                  question="All its versions and the logins in them are deleted. Delete it?"
                  onConfirm={act(`${profile.name} is deleted.`, () =>
                    callConsole('DELETE', encodePath`/users/${userId}/profiles/${profile.name}`),
                  )}
                />
              )}
            </p>
            {checked === profile.name && (
              <ProfileCheckForm userId={userId} name={profile.name} domain={profile.domains[0]?.domain ?? ''} />
            )}
            {opened === profile.name && (
              <Versions
                key={profile.version}
                userId={userId}
                name={profile.name}
                onRestore={version =>
                  act(`Version ${version} of ${profile.name} is the current one again.`, () =>
                    callConsole('POST', encodePath`/users/${userId}/profiles/${profile.name}/restore`, { version }),
                  )()
                }
              />
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

function ProfileRow({ profile }: { profile: Profile }) {
  const { name, version, bytes, saved_at, domains, writer_session_id } = profile;
  const nowMs = Date.now();
  return (
    <>
      <strong>{name}</strong>{' '}
      <span class="muted">
        {saved_at === null
          ? 'nothing was saved yet'
          : `version ${version}, saved ${formatRelative(saved_at, nowMs)}, ${formatMegabytes(bytes)} in all`}
      </span>
      {writer_session_id !== null && (
        <div>
          A running browser has it for writing: <a href={`/sessions/${writer_session_id}`}>its session</a>.
        </div>
      )}
      <div>
        {domains.length === 0
          ? 'No login is known.'
          : domains.map(({ domain, logged_in, expires_at }) => (
              <span
                key={domain}
                class={logged_in ? 'tag' : 'tag muted'}
                title={expires_at === null ? 'until the site ends it' : `until ${dayAndTime(expires_at)}`}
              >
                {domain}
                {!logged_in && ' (expired)'}
              </span>
            ))}
      </div>
    </>
  );
}

function Versions(props: { userId: string; name: string; onRestore: (version: number) => Promise<void> }) {
  const { userId, name, onRestore } = props;
  const mayChange = useMay('operator');
  const detail = usePolled(`profile ${userId} ${name}`, 10_000, signal =>
    callConsole<ProfileDetail>('GET', encodePath`/users/${userId}/profiles/${name}`, undefined, signal),
  );
  if (!detail.value) return detail.error ? <Failure text={detail.error} /> : <Loading what="versions" />;
  const { versions, version: current, writer_session_id } = detail.value;
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Version</th>
          <th scope="col">Saved</th>
          <th scope="col">Size</th>
          <th scope="col">
            <span class="unseen">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {versions.map(({ version, saved_at, bytes }) => (
          <tr key={version}>
            <th scope="row">{version}</th>
            <td>{dayAndTime(saved_at)}</td>
            <td>{formatMegabytes(bytes)}</td>
            <td>
              {version === current && 'current'}
              {mayChange && version !== current && (
                <Confirm
                  label={`Restore ${version}`}
                  question={
                    writer_session_id === null
                      ? 'It becomes the current version; none is lost. Restore it?'
                      : 'The running browser saves over it at its end. Restore it?'
                  }
                  onConfirm={() => onRestore(version)}
                />
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
