import type { KeptPage } from '../../contract/kept-pages.ts';
import { LAST_PAGE } from '../../contract/page-names.ts';
import type { Artifact } from '../../contract/session.ts';
import { callConsole, encodePath } from './api.ts';
import { dayAndTime } from './time.ts';
import { usePolled } from './use-polled.ts';

/** Address of a stored artifact, below `/api`. */
const contentPath = ({ session_id, id }: Artifact): string =>
  `${encodePath`/browser-sessions/${session_id}/artifacts/${id}`}/content`;

const findStored = (artifacts: readonly Artifact[], epoch: number, name: unknown): Artifact | undefined =>
  artifacts.find(each => each.epoch === epoch && each.name === name && each.state === 'stored');

/** It is written once. */
const READ_AGAIN_MS = 3_600_000;

/** The last page of the session's browsers, for when none runs. */
export function LastPage({ artifacts }: { artifacts: readonly Artifact[] }) {
  const about = artifacts.findLast(({ name, state }) => name === LAST_PAGE.about && state === 'stored');
  return about === undefined ? null : <Shown about={about} artifacts={artifacts} />;
}

function Shown({ about, artifacts }: { about: Artifact; artifacts: readonly Artifact[] }) {
  const page = usePolled(`page ${about.id}`, READ_AGAIN_MS, signal =>
    callConsole<KeptPage>('GET', contentPath(about), undefined, signal),
  ).value;
  if (page === undefined) return null;
  const picture = findStored(artifacts, about.epoch, LAST_PAGE.picture);
  const html = findStored(artifacts, about.epoch, LAST_PAGE.html);
  return (
    <figure class="last-page">
      {picture !== undefined && (
        <img class="kept-picture" src={`/api${contentPath(picture)}`} alt={`The last page: ${page.title}`} />
      )}
      <figcaption>
        <strong>{page.title || 'Page without a title'}</strong>, {dayAndTime(page.at)}
        <div class="muted long">{page.url}</div>
        {page.picture_withheld !== undefined && <div>No picture: {page.picture_withheld}.</div>}
        {page.html_withheld !== undefined && <div>No HTML: {page.html_withheld}.</div>}
        {html !== undefined && (
          <a href={`/api${contentPath(html)}`} download="last.html">
            Download its HTML
          </a>
        )}
      </figcaption>
    </figure>
  );
}

/** The picture after a call, where such are kept; read when it is opened. */
export function PictureAfterCall(props: { artifacts: readonly Artifact[]; epoch: number; name: unknown }) {
  const picture = findStored(props.artifacts, props.epoch, props.name);
  if (picture === undefined) return null;
  return (
    <details class="call-picture">
      <summary>Picture</summary>
      <img class="kept-picture" loading="lazy" src={`/api${contentPath(picture)}`} alt="The page after the call" />
    </details>
  );
}
