/**
 * Chromium's main process crashes when a renderer dies while the surface that it draws on is copied, which `Page.captureScreenshot` does:
 * docs/upstream/screenshot-crash.md. With `fromSurface: false` it copies the tab's window instead, which outlives the renderer, and the picture
 * is the same. Such a picture knows no `clip`: the tab shows that area while it is taken, as Chromium has it for a picture of the surface,
 * then again what Playwright chose.
 *
 * A window shows nothing of what lies beyond the viewport, so that pictures of whole pages are taken of the surface. (The setting
 * `mainFrameClipsContent=false` would show it, and stops the mouse wheel.) Only the headless shell has a window for each tab: pictures of
 * other browsers are taken as Playwright asks.
 */
export interface WindowPictures {
  /** From now on pictures are taken of windows. */
  start(): void;
  /** The message that is sent to Chromium instead of one of Playwright's. */
  send(message: string): string;
  /** Whether Playwright may read a message of Chromium; if not, or before that, what to send to Chromium. */
  receive(message: Buffer): { readonly pass: boolean; readonly send?: string };
}

interface Command {
  readonly id: number;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly sessionId: string;
}

const PICTURE = 'Page.captureScreenshot';
/** The picture of this is not looked at: it is small. */
const DRAWN = { format: 'jpeg', quality: 0, fromSurface: false };
const SENT = /^\{"id":\d+,"method":"(Emulation\.setDeviceMetricsOverride|Page\.captureScreenshot)"/;
const ANSWER = /^\{"id":(\d+),("error")?/;
/** A tab's session ends with these: no picture of it is answered. */
const ENDED = /^\{"method":"(?:Target\.detachedFromTarget|Inspector\.targetCrashed)"/;
const SESSION = /"sessionId":"([0-9A-F]+)"/;
const HEAD_BYTES = 128;

/** The first id of what is sent here. Playwright counts from 1, the injected script from 2^30. */
const OWN_ID = 2 ** 30 + 2 ** 29;

/** Whether the browser with this `product` of `Browser.getVersion` has a window for each tab. In its new headless mode Chromium is `Chrome`. */
export const hasTabWindows = (product: string): boolean =>
  process.platform === 'linux' && product.startsWith('HeadlessChrome/');

export function windowPictures(): WindowPictures {
  let isStarted = false;
  let nextId = OWN_ID;
  /** By session, how large Playwright wants the tab. */
  const sizes = new Map<string, Command>();
  /** Sessions whose tab got another size since Chromium last drew it for a picture. */
  const resized = new Set<string>();
  /** By the id of a command that is sent here: its session, and what to send once it is answered. */
  const awaited = new Map<number, { readonly sessionId: string; readonly next: (failed: boolean) => string }>();
  /** By the id of a picture, its session: the tab shows an area until it is answered. */
  const taken = new Map<number, string>();

  function own(command: Command, next?: (failed: boolean) => string): string {
    const id = nextId++;
    if (next !== undefined) awaited.set(id, { sessionId: command.sessionId, next });
    return JSON.stringify({ ...command, id });
  }

  /**
   * Chromium sends a renderer no size before it has drawn the one before, and says that it has taken the picture of a size which is not drawn
   * yet. So a tab that was resized is drawn once before it shows the area.
   */
  function takeArea(given: string, picture: Command, clip: unknown, size: Command): string {
    const { sessionId } = picture;
    const show = () =>
      own({ ...size, params: { ...size.params, viewport: clip } }, failed => {
        if (failed) return given;
        taken.set(picture.id, sessionId);
        return JSON.stringify(picture);
      });
    return resized.delete(sessionId) ? own({ ...picture, params: DRAWN }, show) : show();
  }

  function takePicture(given: string, command: Command): string {
    const { clip, captureBeyondViewport, ...params } = command.params;
    if ('fromSurface' in params) return given;
    const picture: Command = { ...command, params: { ...params, fromSurface: false } };
    const size = sizes.get(command.sessionId);
    if (captureBeyondViewport === true) {
      resized.add(command.sessionId); // Chromium does so for it
      return given;
    }
    if (clip === undefined) return JSON.stringify(picture);
    return size === undefined ? given : takeArea(given, picture, clip, size);
  }

  /** The tab has again the size that Playwright chose. */
  function restore(sessionId: string): string | undefined {
    const size = sizes.get(sessionId);
    if (size === undefined) return undefined;
    resized.add(sessionId);
    return own(size);
  }

  function forget(sessionId: string): void {
    sizes.delete(sessionId);
    resized.delete(sessionId);
    for (const [id, command] of awaited) if (command.sessionId === sessionId) awaited.delete(id);
    for (const [id, session] of taken) if (session === sessionId) taken.delete(id);
  }

  return {
    start() {
      isStarted = true;
    },
    send(message) {
      const method = SENT.exec(message.slice(0, HEAD_BYTES))?.[1];
      if (method === undefined) return message;
      const command = JSON.parse(message) as Command; // Playwright's own
      if (method === PICTURE) return isStarted ? takePicture(message, command) : message;
      sizes.set(command.sessionId, command);
      resized.add(command.sessionId);
      return message;
    },
    receive(message) {
      const head = message.toString('latin1', 0, HEAD_BYTES);
      if (ENDED.test(head)) forget(SESSION.exec(message.toString('latin1'))?.[1] ?? '');
      const [, digits, error] = ANSWER.exec(head) ?? [];
      const id = Number(digits);
      const next = awaited.get(id)?.next(error !== undefined);
      if (awaited.delete(id)) return { pass: false, ...(next !== undefined && { send: next }) };
      const sessionId = taken.get(id);
      const send = sessionId === undefined ? undefined : restore(sessionId);
      taken.delete(id);
      return { pass: !(id >= OWN_ID), ...(send !== undefined && { send }) };
    },
  };
}
