import type { PendingUserActionList } from '../../../contract/user-action.ts';
import { Empty, Failure, Loading } from '../notices.tsx';
import { Request } from '../request.tsx';
import type { Polled } from '../use-polled.ts';

/** Open requests of agents of all sessions. */
export function RequestsPage({ requests }: { requests: Polled<PendingUserActionList['user_actions']> }) {
  const { value, error, refresh } = requests;
  return (
    <>
      <h1>Requests</h1>
      <Failure text={error} />
      {!value && !error && <Loading what="requests" />}
      {value?.length === 0 && (
        <Empty title="No agent waits for you">
          <p>
            When an agent needs a person for a code, a CAPTCHA or a consent, it calls{' '}
            <code>browser_request_user_action</code>, and its request appears here at once.
          </p>
        </Empty>
      )}
      {value?.map(request => (
        <Request key={request.id} request={request} onAnswered={refresh} />
      ))}
    </>
  );
}
