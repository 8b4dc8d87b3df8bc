import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { LiveTab, ViewerMessage } from '../../../contract/live.ts';
import { LIVE_LIMITS } from '../../../contract/live-limits.ts';

export interface AddressBarProps {
  shown: LiveTab | undefined;
  isMine: boolean;
  send: (message: ViewerMessage) => void;
  /** Between the buttons and the address. */
  children?: ComponentChildren;
}

const TOO_LONG = `An address has ${LIVE_LIMITS.addressMax} characters at most.`;

/** Address of the shown tab. The person in control changes it. */
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
        onInput={event => {
          const { value } = event.currentTarget;
          // A `maxLength` would cut it short: another address.
          const isTooLong = value.trim().length > LIVE_LIMITS.addressMax;
          event.currentTarget.setCustomValidity(isTooLong ? TOO_LONG : '');
          setEdited(value);
        }}
        onBlur={() => setEdited(undefined)}
      />
    </form>
  );
}
