import { useState } from 'preact/hooks';
import type { ServerMessage, ViewerMessage } from '../../../contract/live.ts';
import { LIVE_LIMITS } from '../../../contract/live-limits.ts';

export interface DialogProps {
  dialog: Extract<ServerMessage, { t: 'dialog' }>;
  isMine: boolean;
  send: (message: ViewerMessage) => void;
}

/** A dialog of a page. Only the person in control answers. */
export function Dialog({ dialog, isMine, send }: DialogProps) {
  const { tab, type, text, value } = dialog;
  const [typed, setTyped] = useState(value);
  const answer = (accept: boolean) =>
    send({ t: 'answer', tab, accept, ...(type === 'prompt' && accept ? { text: typed } : {}) });
  const title = type === 'beforeunload' ? 'Leave the page?' : 'The page says';
  return (
    <section class="notice" aria-label={title}>
      <p>
        <strong>{title}</strong> <span class="long">{text}</span>
      </p>
      {type === 'prompt' && (
        <label>
          Answer
          <input
            value={typed}
            maxLength={LIVE_LIMITS.answerMax}
            disabled={!isMine}
            onInput={event => setTyped(event.currentTarget.value)}
          />
        </label>
      )}
      <p class="actions">
        <button type="button" disabled={!isMine} onClick={() => answer(true)}>
          {type === 'beforeunload' ? 'Leave' : 'OK'}
        </button>
        {type !== 'alert' && (
          <button type="button" class="quiet" disabled={!isMine} onClick={() => answer(false)}>
            {type === 'beforeunload' ? 'Stay' : 'Cancel'}
          </button>
        )}
        {!isMine && <span class="muted">The one who has control answers.</span>}
      </p>
    </section>
  );
}
