import { useState } from 'preact/hooks';
import type { LiveControl, ViewerMessage } from '../../../contract/live.ts';
import { LIVE_LIMITS } from '../../../contract/live-limits.ts';

interface TakeOverProps {
  /** The viewer who has control, and their name. */
  from: string;
  name: string;
  send: (message: ViewerMessage) => void;
}

/** Takes control from another person, after a question; they read who did it and why. Escape takes the question back. */
export function TakeOver({ from, name, send }: TakeOverProps) {
  const [isAsking, setAsking] = useState(false);
  const [reason, setReason] = useState('');
  if (!isAsking)
    return (
      <button type="button" class="control" onClick={() => setAsking(true)}>
        Take over
      </button>
    );
  return (
    <form
      class="take-over"
      aria-label={`Take control from ${name}`}
      onSubmit={event => {
        event.preventDefault();
        const why = reason.trim();
        send({ t: 'take', from, ...(why === '' ? {} : { reason: why }) });
      }}
      onKeyDown={event => {
        if (event.key === 'Escape') setAsking(false);
      }}
    >
      <label>
        Why (optional; {name} reads it)
        <input
          ref={input => input?.focus()}
          maxLength={LIVE_LIMITS.reasonMax}
          value={reason}
          onInput={event => setReason(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="danger">
        Take control from {name}
      </button>
      <button type="button" class="quiet" onClick={() => setAsking(false)}>
        Cancel
      </button>
    </form>
  );
}

/** Reports to viewers who has control, and from whom it was taken and why; in state `person`. */
export function whoHasControl({ name, taken_from: from }: LiveControl, you: string): string {
  if (from === null) return `${name} has control.`;
  const why = from.reason === null ? '.' : `: “${from.reason}”`;
  return from.id === you ? `${name} took control from you${why}` : `${name} took control from ${from.name}${why}`;
}
