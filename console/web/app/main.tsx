import { render } from 'preact';
import { BrowserCard } from './browser-card.tsx';
import { openHost } from './host.ts';
import '../console.css';
import '../live/live.css';
import './app.css';

/** The page that a chat shows beside its messages (M3). All that it knows comes through its host. */
const ended = new AbortController();
let names: Readonly<Record<string, unknown>> = {};
let mode: 'inline' | 'fullscreen' = 'inline';

const host = await openHost({
  // A gateway finds the conversation's browser by it; to a runner any name that the agent gave is its own.
  onInput({ sessionId }) {
    names = sessionId === undefined ? {} : { sessionId };
  },
  onMode(now) {
    mode = now;
    draw();
  },
  onEnd: () => ended.abort(),
});
draw();

function draw(): void {
  if (host === undefined) return; // the mode came with the host's first answer
  render(<BrowserCard host={host} names={() => names} mode={mode} ended={ended.signal} />, document.body);
}
