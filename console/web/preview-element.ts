import { PREVIEW_MESSAGES, previewPath } from '../../contract/preview.ts';

const STYLE = `
  :host { display: block; aspect-ratio: 4 / 3; min-height: 15rem; }
  iframe { width: 100%; height: 100%; border: 0; border-radius: 10px; }
`;

/**
 * `<omicron-browser-preview session="…">`: the browser of a session, live, for a chat UI to put beside a message. The console that
 * serves this module shows it in a frame. With `read-only` no person takes control in it. Set `liveToken` to a function that
 * fetches a live token from your own backend; without it the viewer's sign-in to the console decides.
 */
export class OmicronBrowserPreview extends HTMLElement {
  static readonly observedAttributes = ['session', 'read-only'];
  readonly #frame = document.createElement('iframe');
  #liveToken: (() => Promise<string>) | undefined;

  constructor() {
    super();
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    const root = this.attachShadow({ mode: 'closed' });
    root.adoptedStyleSheets = [sheet];
    this.#frame.title = 'Live view of the browser';
    this.#frame.allow = 'fullscreen; clipboard-read; clipboard-write';
    root.append(this.#frame);
  }

  get liveToken(): (() => Promise<string>) | undefined {
    return this.#liveToken;
  }

  /** Called for each connection: a token opens one. */
  set liveToken(value: (() => Promise<string>) | undefined) {
    this.#liveToken = value;
    this.#show();
  }

  connectedCallback(): void {
    addEventListener('message', this.#answer);
    this.#show();
  }

  disconnectedCallback(): void {
    removeEventListener('message', this.#answer);
  }

  attributeChangedCallback(): void {
    this.#show();
  }

  #show(): void {
    const session = this.getAttribute('session');
    if (!this.isConnected || !session) return;
    const url = new URL(previewPath(session), CONSOLE_ORIGIN);
    if (this.hasAttribute('read-only')) url.searchParams.set('readOnly', 'true');
    if (this.#liveToken) url.searchParams.set('admission', 'token');
    if (this.#frame.src !== url.href) this.#frame.src = url.href;
  }

  readonly #answer = async ({ source, origin, data }: MessageEvent): Promise<void> => {
    const isMine = source === this.#frame.contentWindow && origin === CONSOLE_ORIGIN;
    if (!isMine || data?.type !== PREVIEW_MESSAGES.tokenWanted || !this.#liveToken) return;
    const token = await this.#liveToken().catch(() => null); // the preview says so, and asks again
    this.#frame.contentWindow?.postMessage({ type: PREVIEW_MESSAGES.token, token }, CONSOLE_ORIGIN);
  };
}

const CONSOLE_ORIGIN = new URL(import.meta.url).origin;
customElements.define('omicron-browser-preview', OmicronBrowserPreview);
