import { useState } from 'preact/hooks';

/** A button that asks before it acts; Escape takes the question back. */
export function Confirm(props: { label: string; question: string; onConfirm: () => Promise<void> | void }) {
  const { label, question, onConfirm } = props;
  const [state, setState] = useState<'idle' | 'asking' | 'acting'>('idle');
  if (state !== 'asking')
    return (
      <button type="button" class="quiet" disabled={state === 'acting'} onClick={() => setState('asking')}>
        {state === 'acting' ? `${label} …` : label}
      </button>
    );
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would add a border and a legend
    <span
      class="question"
      role="group"
      aria-label={question}
      onKeyDown={event => {
        if (event.key === 'Escape') setState('idle');
      }}
    >
      {question}{' '}
      <button
        type="button"
        class="danger"
        ref={button => button?.focus()}
        onClick={async () => {
          setState('acting');
          await onConfirm();
          setState('idle');
        }}
      >
        {label}
      </button>{' '}
      <button type="button" class="quiet" onClick={() => setState('idle')}>
        Cancel
      </button>
    </span>
  );
}
