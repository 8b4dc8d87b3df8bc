import type { ProfileCheck } from '../../contract/profile.ts';
import { callConsole, encodePath } from './api.ts';
import { Failure } from './notices.tsx';
import { typedIn, useSubmission } from './use-submission.ts';

/** Opens a page with a profile, in a browser that ends with the check, and says whether it shows who is logged in. */
export function ProfileCheckForm({ userId, name, domain }: { userId: string; name: string; domain: string }) {
  const {
    answer: check,
    failure,
    isRunning,
    onSubmit,
  } = useSubmission(fields =>
    callConsole<ProfileCheck>('POST', encodePath`/users/${userId}/profiles/${name}/check`, {
      url: typedIn(fields, 'url'),
      text: typedIn(fields, 'text'),
    }),
  );
  return (
    <form class="form" aria-label={`Check of ${name}`} onSubmit={onSubmit}>
      <label>
        Page
        <input name="url" type="url" required defaultValue={`https://${domain}/`} autocomplete="off" />
      </label>
      <label>
        Text that it shows when logged in
        <input name="text" required autocomplete="off" />
      </label>
      <p class={check || isRunning ? `notice ${toneOf(check)}` : 'unseen'} role="status">
        {isRunning ? 'Starting a browser with the saved profile. This takes up to a minute …' : resultOf(check)}
        {check && <span class="long"> The browser was at {check.url}.</span>}
      </p>
      <Failure text={failure} />
      <p class="actions">
        <button type="submit" disabled={isRunning}>
          Check
        </button>
      </p>
    </form>
  );
}

const toneOf = (check: ProfileCheck | undefined): string =>
  check === undefined ? '' : check.logged_in === true ? 'success' : 'failure';

function resultOf(check: ProfileCheck | undefined): string | undefined {
  if (check === undefined) return undefined;
  if (check.logged_in === null) return 'The page was not shown.';
  return check.logged_in ? 'Logged in.' : 'Not logged in: the page does not show this text.';
}
