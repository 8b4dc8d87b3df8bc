// contract/preview.ts
/**
* Messages between an embedded preview and the page around it, by `postMessage`: a preview that is opened with
* `?admission=token` asks for a live token for each connection, since browsers send it no cookie inside another site.
*/
var PREVIEW_MESSAGES = {
	/** From the preview: `{type}`. */
	tokenWanted: "omicron.preview.token-wanted",
	/** To the preview: `{type, token}`, the answer of `POST .../live-token`; null: there is none now. */
	token: "omicron.preview.token"
};
var previewPath = (sessionId) => `/preview/${sessionId}`;
// console/web/preview-element.ts
var STYLE = `
  :host { display: block; aspect-ratio: 4 / 3; min-height: 15rem; }
  iframe { width: 100%; height: 100%; border: 0; border-radius: 10px; }
`;
/**
* `<omicron-browser-preview session="…">`: the browser of a session, live, for a chat UI to put beside a message. The console that
* serves this module shows it in a frame. With `read-only` no person takes control in it. Set `liveToken` to a function that
* fetches a live token from your own backend; without it the viewer's sign-in to the console decides.
*/
var OmicronBrowserPreview = class extends HTMLElement {
	static observedAttributes = ["session", "read-only"];
	#frame = document.createElement("iframe");
	#liveToken;
	constructor() {
		super();
		const sheet = new CSSStyleSheet();
		sheet.replaceSync(STYLE);
		const root = this.attachShadow({ mode: "closed" });
		root.adoptedStyleSheets = [sheet];
		this.#frame.title = "Live view of the browser";
		this.#frame.allow = "fullscreen; clipboard-read; clipboard-write";
		root.append(this.#frame);
	}
	get liveToken() {
		return this.#liveToken;
	}
	/** Called for each connection: a token opens one. */
	set liveToken(value) {
		this.#liveToken = value;
		this.#show();
	}
	connectedCallback() {
		addEventListener("message", this.#answer);
		this.#show();
	}
	disconnectedCallback() {
		removeEventListener("message", this.#answer);
	}
	attributeChangedCallback() {
		this.#show();
	}
	#show() {
		const session = this.getAttribute("session");
		if (!this.isConnected || !session) return;
		const url = new URL(previewPath(session), CONSOLE_ORIGIN);
		if (this.hasAttribute("read-only")) url.searchParams.set("readOnly", "true");
		if (this.#liveToken) url.searchParams.set("admission", "token");
		if (this.#frame.src !== url.href) this.#frame.src = url.href;
	}
	#answer = async ({ source, origin, data }) => {
		if (!(source === this.#frame.contentWindow && origin === CONSOLE_ORIGIN) || data?.type !== PREVIEW_MESSAGES.tokenWanted || !this.#liveToken) return;
		const token = await this.#liveToken().catch(() => null);
		this.#frame.contentWindow?.postMessage({
			type: PREVIEW_MESSAGES.token,
			token
		}, CONSOLE_ORIGIN);
	};
};
var CONSOLE_ORIGIN = new URL(import.meta.url).origin;
customElements.define("omicron-browser-preview", OmicronBrowserPreview);
