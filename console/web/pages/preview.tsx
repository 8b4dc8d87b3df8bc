import { useEffect, useState } from 'preact/hooks';
import { encodePath } from '../api.ts';
import { tokenFromEmbedder } from '../live/embedded.ts';
import { LiveBrowser } from '../live/live-view.tsx';

/**
 * The live view alone, for a frame beside a chat (A3, B11). `?readOnly=true`: no person takes control here. `?admission=token`: the page
 * around it admits the viewer, in place of a sign-in.
 */
export function PreviewPage({ id, url }: { id: string; url: URL }) {
  const [asked, setAsked] = useState<readonly string[]>([]);
  useEffect(() => {
    document.title = 'Browser · omicron-browser';
    document.documentElement.classList.add('preview');
  }, []);
  const admit = url.searchParams.get('admission') === 'token' ? tokenFromEmbedder : undefined;
  return (
    <main class="preview">
      <h1 class="unseen">Browser of the session</h1>
      {asked.map(reason => (
        <p class="notice" role="status" key={reason}>
          The agent asks: {reason}{' '}
          <a href={encodePath`/sessions/${id}`} target="_blank" rel="noopener">
            Answer in the console
          </a>
        </p>
      ))}
      <LiveBrowser
        sessionId={id}
        liveRole={url.searchParams.get('readOnly') === 'true' ? 'view' : 'control'}
        admit={admit}
        onAsk={reasons => setAsked(reasons)}
      />
    </main>
  );
}
