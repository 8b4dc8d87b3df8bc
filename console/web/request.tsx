import { useState } from 'preact/hooks';
import type { PendingUserActionList, UserAction } from '../../contract/user-action.ts';
import { callConsole, encodePath } from './api.ts';
import { useMay } from './me.ts';
import { Failure } from './notices.tsx';
import { formatRelative } from './time.ts';
import { messageOf } from './use-polled.ts';

const NOTE_MAX = 2_000;

/** An agent's request to a person, and the answer. The answer's note reaches the model: it is no place for a secret. */
export function Request(props: { request: PendingUserActionList['user_actions'][number]; onAnswered: () => void }) {
  const { request, onAnswered } = props;
  const mayAnswer = useMay('operator');
  const [note, setNote] = useState('');
  const [failure, setFailure] = useState<string>();
  const [isSending, setSending] = useState(false);
  const about = request.credential;
  const answer = async (status: 'done' | 'declined', always = false) => {
    setSending(true);
    setFailure(undefined);
    try {
      const action = await callConsole<UserAction>(
        'POST',
        encodePath`/browser-sessions/${request.session_id}/user-actions/${request.id}`,
        { status, ...(always && { always }), ...(note.trim() !== '' && { note: note.trim() }) },
      );
      if (action.status !== status) setFailure(`It was too late: the request is ${action.status}.`);
      onAnswered();
    } catch (error) {
      setFailure(messageOf(error));
    }
    setSending(false);
  };
  return (
    <article class="request" aria-label={`Request: ${request.reason}`}>
      <p class="reason">{request.reason}</p>
      <p class="muted">
        {request.user_id}, <a href={`/sessions/${request.session_id}`}>{request.conversation_id}</a>, expires{' '}
        {formatRelative(request.expires_at, Date.now())}
      </p>
      {mayAnswer && (
        <>
          {about !== null && (
            <p class="muted">
              Nothing says where this credential may be used. “Always” stores {about.target} with it; “once” is for this
              lease.
            </p>
          )}
          <label hidden={about !== null}>
            Message to the agent (optional; never a password)
            <input
              value={note}
              maxLength={NOTE_MAX}
              autocomplete="off"
              onInput={event => setNote(event.currentTarget.value)}
            />
          </label>
          <Failure text={failure} />
          <p class="actions">
            <button type="button" disabled={isSending} onClick={() => answer('done')}>
              {about === null ? 'Done' : 'Once'}
            </button>
            {about !== null && (
              <button type="button" disabled={isSending} onClick={() => answer('done', true)}>
                Always
              </button>
            )}
            <button type="button" class="quiet" disabled={isSending} onClick={() => answer('declined')}>
              {about === null ? 'Decline' : 'No'}
            </button>
          </p>
        </>
      )}
    </article>
  );
}
