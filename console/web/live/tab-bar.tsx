import { useState } from 'preact/hooks';
import type { Live } from './use-live.ts';

/** The tabs of the browser, and where the shown one is. The person in control changes them. */
export function TabBar({ live: { state, send } }: { live: Live }) {
  const { tabs, isMine } = state;
  const shown = tabs.find(tab => tab.shown);
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
    <div class="tab-bar">
      <ul aria-label="Tabs">
        {tabs.map(tab => {
          const name = tab.title || tab.url;
          return (
            <li key={tab.id} class={tab.shown ? 'shown' : ''}>
              <button
                type="button"
                class="quiet"
                aria-current={tab.shown}
                title={tab.url}
                disabled={!isMine}
                onClick={() => send({ t: 'tab', id: tab.id, do: 'show' })}
              >
                {name}
              </button>
              {isMine && tabs.length > 1 && (
                <button
                  type="button"
                  class="quiet close"
                  aria-label={`Close ${name}`}
                  onClick={() => send({ t: 'tab', id: tab.id, do: 'close' })}
                >
                  ×
                </button>
              )}
            </li>
          );
        })}
      </ul>
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
        <input
          aria-label="Address"
          autocomplete="off"
          spellcheck={false}
          readOnly={!isMine}
          value={edited ?? shown?.url ?? ''}
          onFocus={event => isMine && event.currentTarget.select()}
          onInput={event => setEdited(event.currentTarget.value)}
          onBlur={() => setEdited(undefined)}
        />
      </form>
    </div>
  );
}
