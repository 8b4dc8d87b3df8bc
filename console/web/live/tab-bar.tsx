import { AddressBar } from './address-bar.tsx';
import type { Live } from './use-live.ts';

/** The tabs of the browser, and where the shown one is. The person in control changes them. */
export function TabBar({ live: { state, send } }: { live: Live }) {
  const { tabs, isMine } = state;
  const shown = tabs.find(tab => tab.shown);
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
      <AddressBar shown={shown} isMine={isMine} send={send} />
    </div>
  );
}
