import type { CredentialTest } from '../../contract/credential-test.ts';
import { callConsole, encodePath } from './api.ts';
import { Failure } from './notices.tsx';
import { typedIn, useSubmission } from './use-submission.ts';

interface CredentialTestFormProps {
  userId: string;
  site: string;
  /** Origins and domains on which the credential is filled. */
  filledOn: readonly string[];
  onClose: () => void;
}

/** Logs in to the site with a stored credential, in a browser that ends with the test, and shows where that led. */
export function CredentialTestForm({ userId, site, filledOn, onClose }: CredentialTestFormProps) {
  const [first = ''] = filledOn;
  const {
    answer: test,
    failure,
    isRunning,
    onSubmit,
  } = useSubmission(fields =>
    callConsole<CredentialTest>('POST', encodePath`/users/${userId}/credentials/${site}/test`, {
      url: typedIn(fields, 'url'),
    }),
  );
  return (
    <form class="form" aria-label={`Test of ${site}`} onSubmit={onSubmit}>
      <label>
        Page with the login form
        <input
          name="url"
          type="url"
          required
          defaultValue={first === '' || first.includes('://') ? first : `https://${first}/`}
          autocomplete="off"
        />
      </label>
      <p class="muted">
        A browser starts, opens the page and logs in with the stored values. It is not recorded, and it ends with the
        test.
      </p>
      <p class={test || isRunning ? `notice ${toneOf(test)}` : 'unseen'} role="status">
        {isRunning ? 'Starting a browser and logging in. This takes up to a minute …' : test?.message}
        {test?.url && <span class="long"> The browser was at {test.url}.</span>}
      </p>
      {test?.picture && (
        <img class="shot" src={`data:image/jpeg;base64,${test.picture}`} alt="The page after the login was tried" />
      )}
      <Failure text={failure} />
      <p class="actions">
        <button type="submit" disabled={isRunning}>
          Log in as a test
        </button>
        <button type="button" class="quiet" onClick={onClose}>
          Close
        </button>
      </p>
    </form>
  );
}

const toneOf = (test: CredentialTest | undefined): string =>
  test === undefined ? '' : test.status === 'ok' ? 'success' : 'failure';
