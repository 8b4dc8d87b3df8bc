import { useId, useState } from 'preact/hooks';
import { callConsole, encodePath, Refused } from './api.ts';
import { Failure } from './notices.tsx';
import { messageOf } from './use-polled.ts';

interface CredentialFormProps {
  userId: string;
  /** The credential to replace; a new one otherwise. */
  site?: string;
  /** Its own url: where it may be filled. */
  url?: readonly string[] | undefined;
  onSaved: (site: string) => void;
  onCancel?: () => void;
}

/** Stores a credential, and where it may be filled. The fields are empty at first: stored values never come back. */
export function CredentialForm({ userId, site, url = [], onSaved, onCancel }: CredentialFormProps) {
  const [failure, setFailure] = useState<string>();
  const [isSaving, setSaving] = useState(false);
  const hint = useId();
  const save = async (form: HTMLFormElement) => {
    const fields = new FormData(form);
    const text = (name: string) => String(fields.get(name) ?? '');
    const key = site ?? text('site').trim();
    const wanted = text('targets')
      .split(/[\s,]+/)
      .filter(each => each !== '');
    setSaving(true);
    setFailure(undefined);
    try {
      await callConsole('PUT', encodePath`/users/${userId}/credentials/${key}`, {
        username: text('username'),
        password: text('password'),
        ...(wanted.length === 0 ? {} : { url: wanted }),
        ...(text('totp') === '' ? {} : { totp: text('totp') }),
      });
      form.reset();
      onSaved(key);
    } catch (error) {
      const faults = error instanceof Refused ? error.errors : undefined;
      setFailure(faults?.map(({ path: at, message }) => `${at} ${message}`).join('; ') ?? messageOf(error));
    }
    setSaving(false);
  };
  return (
    <form
      class="form"
      aria-label={site === undefined ? 'New credential' : `Credential of ${site}`}
      onSubmit={event => {
        event.preventDefault();
        void save(event.currentTarget);
      }}
    >
      {site === undefined && (
        <label>
          Site key
          <input
            name="site"
            required
            maxLength={64}
            pattern="[A-Za-z0-9][A-Za-z0-9_.\-]*"
            placeholder="shop.example"
            autocomplete="off"
          />
        </label>
      )}
      <label>
        Username
        <input name="username" required maxLength={4096} autocomplete="off" />
      </label>
      <label>
        Password
        <input name="password" type="password" required maxLength={4096} autocomplete="new-password" />
      </label>
      <label>
        TOTP seed (optional)
        <input name="totp" type="password" maxLength={512} autocomplete="off" />
      </label>
      <label>
        May be filled on
        <input name="targets" defaultValue={url.join(' ')} aria-describedby={hint} autocomplete="off" />
      </label>
      <p id={hint} class="muted">
        Origins such as https://accounts.example.com or registrable domains such as example.com, with a space between.
        Empty: where the site key is the page's domain, or a policy says. A policy can only narrow it.
      </p>
      <Failure text={failure} />
      <p class="actions">
        <button type="submit" disabled={isSaving}>
          {isSaving ? 'Saving …' : site === undefined ? 'Add' : 'Replace'}
        </button>
        {onCancel && (
          <button type="button" class="quiet" onClick={onCancel}>
            Cancel
          </button>
        )}
      </p>
    </form>
  );
}
