import { useId, useState } from 'preact/hooks';
import type { ClientCertificate } from '../../contract/secrets.ts';
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
  const [hasCertificate, setHasCertificate] = useState(false);
  const hint = useId();
  const save = async (form: HTMLFormElement) => {
    const fields = new FormData(form);
    const text = (name: string) => String(fields.get(name) ?? '');
    const key = site ?? text('site').trim();
    setSaving(true);
    setFailure(undefined);
    try {
      const body = await credentialOf(fields);
      await callConsole('PUT', encodePath`/users/${userId}/credentials/${key}`, body);
      form.reset();
      setHasCertificate(false);
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
        <input name="username" required={!hasCertificate} maxLength={4096} autocomplete="off" />
      </label>
      <label>
        Password
        <input
          name="password"
          type="password"
          required={!hasCertificate}
          maxLength={4096}
          autocomplete="new-password"
        />
      </label>
      <label>
        TOTP seed (optional)
        <input name="totp" type="password" maxLength={512} autocomplete="off" />
      </label>
      <CertificateFields isChosen={hasCertificate} onChosen={setHasCertificate} />
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

/** The certificate of the files that were chosen; undefined: none were. */
async function readCertificate(
  chosen: readonly FormDataEntryValue[],
  passphrase: string,
): Promise<ClientCertificate | undefined> {
  const files = chosen.filter((each): each is File => each instanceof File && each.size > 0);
  const [first] = files;
  if (first === undefined) return undefined;
  const phrase = passphrase === '' ? {} : { passphrase };
  const texts = await Promise.all(files.map(file => file.text()));
  const pem = texts.join('\n');
  if (pem.includes('-----BEGIN ')) return { certificate: pem, key: pem, ...phrase };
  const bytes = new Uint8Array(await first.arrayBuffer());
  return { pkcs12: btoa(Array.from(bytes, byte => String.fromCharCode(byte)).join('')), ...phrase };
}

interface CertificateFieldsProps {
  isChosen: boolean;
  onChosen: (isChosen: boolean) => void;
}

function CertificateFields({ isChosen, onChosen }: CertificateFieldsProps) {
  const hint = useId();
  return (
    <>
      <label>
        Client certificate (optional)
        <input
          name="certificate"
          type="file"
          multiple
          aria-describedby={hint}
          onChange={event => onChosen((event.currentTarget.files?.length ?? 0) > 0)}
        />
      </label>
      <p id={hint} class="muted">
        A PKCS#12 file (.p12, .pfx), or PEM files with the certificate and its key. The browser shows it to the site; no
        username is needed then.
      </p>
      {isChosen && (
        <label>
          Passphrase of the certificate (optional)
          <input name="passphrase" type="password" maxLength={4096} autocomplete="off" />
        </label>
      )}
    </>
  );
}

/** The credential as the form has it. */
async function credentialOf(fields: FormData): Promise<object> {
  const text = (name: string) => String(fields.get(name) ?? '');
  const wanted = text('targets')
    .split(/[\s,]+/)
    .filter(each => each !== '');
  const certificate = await readCertificate(fields.getAll('certificate'), text('passphrase'));
  const hasLogin = text('username') !== '' || certificate === undefined;
  return {
    ...(hasLogin && { username: text('username'), password: text('password') }),
    ...(certificate && { client_certificate: certificate }),
    ...(wanted.length > 0 && { url: wanted }),
    ...(text('totp') !== '' && { totp: text('totp') }),
  };
}
