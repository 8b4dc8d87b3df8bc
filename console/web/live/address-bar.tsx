import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { LiveTab, ViewerMessage } from '../../../contract/live.ts';

export interface AddressBarProps {
  shown: LiveTab | undefined;
  isMine: boolean;
  send: (message: ViewerMessage) => void;
  /** Between the buttons and the address. */
  children?: ComponentChildren;
}

/** Where the shown tab is. The person in control changes it. */
export function AddressBar({ shown, isMine, send, children }: AddressBarProps) {
  const [edited, setEdited] = useState<string>();
  const nav = (to: 'back' | 'forward' | 'reload', label: string, sign: string) => (
    <button
      type="button"
      class="quiet"
      aria-label={label}
      title={label}
      disabled={!isMine}
      onClick={() => send({ t: 'nav', to })}
    >
      {sign}
    </button>
  );
  return (
    <form
      class="address"
      onSubmit={event => {
        event.preventDefault();
        if (edited?.trim()) send({ t: 'goto', url: edited.trim() });
        setEdited(undefined);
      }}
    >
      {nav('back', 'Back', '←')}
      {nav('forward', 'Forward', '→')}
      {nav('reload', 'Reload', '↻')}
      {children}
      <input
        aria-label="Address"
        title={shown?.title}
        autocomplete="off"
        spellcheck={false}
        readOnly={!isMine}
        value={edited ?? shown?.url ?? ''}
        onFocus={event => isMine && event.currentTarget.select()}
        onInput={event => setEdited(event.currentTarget.value)}
        onBlur={() => setEdited(undefined)}
      />
    </form>
  );
}
