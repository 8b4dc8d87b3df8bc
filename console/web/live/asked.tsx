import { useState } from 'preact/hooks';
import type { ServerMessage } from '../../../contract/live.ts';
import { LIVE_LIMITS } from '../../../contract/live-limits.ts';
import { Failure } from '../notices.tsx';
import { Dialog } from './dialog.tsx';
import type { Live } from './use-live.ts';

type Of<T extends ServerMessage['t']> = Extract<ServerMessage, { t: T }>;

/**
 * Questions of pages to the person: dialogs and files. Over the picture, which must not move under a press. Only the
 * person in control answers.
 */
export function Asked({ live }: { live: Live }) {
  const { dialogs, choosers, isMine } = live.state;
  return (
    <div class="asked">
      {dialogs.map(dialog => (
        <Dialog key={dialog.tab} dialog={dialog} isMine={isMine} send={live.send} />
      ))}
      {isMine && choosers.map(chooser => <Chooser key={chooser.tab} chooser={chooser} live={live} />)}
    </div>
  );
}

function Chooser({ chooser, live: { send, answered } }: { chooser: Of<'files'>; live: Live }) {
  const { tab, multiple } = chooser;
  const [failure, setFailure] = useState<string>();
  const give = async (files: readonly File[]) => {
    const tooMuch = whyTooMuch(files);
    setFailure(tooMuch);
    if (tooMuch !== undefined) return;
    send({ t: 'files', tab, files: await Promise.all(files.map(encodeFile)) });
    answered(tab);
  };
  return (
    <section class="notice" aria-label="The page asks for files">
      <label>
        The page asks for {multiple ? 'files' : 'a file'}
        <input type="file" multiple={multiple} onChange={event => give([...(event.currentTarget.files ?? [])])} />
      </label>
      <Failure text={failure} />
      <p class="actions">
        <button type="button" class="quiet" onClick={() => give([])}>
          Give none
        </button>
      </p>
    </section>
  );
}

/** More than one message holds. */
function whyTooMuch(files: readonly File[]): string | undefined {
  if (files.length > LIVE_LIMITS.filesMax) return `Choose ${LIVE_LIMITS.filesMax} files at most.`;
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  if (bytes <= LIVE_LIMITS.fileBytesMax) return undefined;
  const what = files.length === 1 ? `${files[0]?.name} is` : 'Together they are';
  return `${what} larger than ${LIVE_LIMITS.fileBytesMax / 1024 / 1024} MiB. Choose ${files.length === 1 ? 'another file' : 'fewer'}.`;
}

async function encodeFile(file: File): Promise<{ name: string; base64: string }> {
  const reader = new FileReader();
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  reader.onload = () => resolve(String(reader.result));
  reader.onerror = () => reject(reader.error);
  reader.readAsDataURL(file);
  const url = await promise;
  return { name: file.name, base64: url.slice(url.indexOf(',') + 1) };
}
