/** A call of a tool on the page of a session. */
export interface NamedCall {
  readonly tool: string;
  readonly args: Record<string, unknown>;
}

/** One command of `page`, as each kind of toolset has it. */
export interface PageCall {
  /** The call of a compatible tool, which answers JSON. */
  readonly compat: NamedCall;
  /** The call of a tool of Playwright's. */
  readonly playwright: NamedCall;
}

const tool = (name: string, args: Record<string, unknown>): NamedCall => ({ tool: name, args });
const evaluate = (source: string): NamedCall => tool('browser_evaluate', { function: source });

/** Page functions of `extract`: the content in the modes of `browser_get_content`. */
const CONTENT: Readonly<Record<string, string>> = {
  text: 'document.body.innerText',
  title: 'undefined',
  html: 'document.documentElement.outerHTML',
  links: '[...document.links].map(link => ({ text: link.innerText, href: link.href }))',
};

const POLL_MS = 100;

/** Ends with an error when the time is over, as `browser_wait` does. */
const waitForVisible = (selector: string, ms: number) => `async () => {
  const isVisible = () => document.querySelector(${JSON.stringify(selector)})?.checkVisibility() === true;
  for (const untilMs = Date.now() + ${ms}; !isVisible(); await new Promise(done => setTimeout(done, ${POLL_MS})))
    if (Date.now() > untilMs) throw new Error(${JSON.stringify(`${selector} did not become visible within ${ms} ms`)});
}`;

export const PAGE_CALLS = {
  goto: (url: string): PageCall => ({
    compat: tool('browser_open', { url, screenshot: false }), // `browser_navigate` of the toolset both is Playwright's
    playwright: tool('browser_navigate', { url }),
  }),
  extract: (mode: string): PageCall => ({
    compat: tool('browser_get_content', { format: mode === 'title' ? 'text' : mode }),
    playwright: evaluate(`() => ({ url: location.href, title: document.title, content: ${CONTENT[mode]} })`),
  }),
  click: (selector: string): PageCall => ({
    compat: tool('browser_click', { selector }),
    playwright: tool('browser_click', { target: selector }),
  }),
  type: (selector: string, text: string): PageCall => ({
    compat: tool('browser_type', { selector, text }),
    playwright: tool('browser_type', { target: selector, text }),
  }),
  waitFor: (selector: string, seconds: number): PageCall => ({
    compat: tool('browser_wait', { selector, ms: seconds * 1000 }),
    playwright: evaluate(waitForVisible(selector, seconds * 1000)),
  }),
  screenshot: (fullPage: boolean): PageCall => ({
    compat: tool('browser_screenshot', { fullPage }),
    playwright: tool('browser_take_screenshot', { fullPage, type: 'png' }),
  }),
};

/** Answers where the page is, without a script in it: a page that ran one is not logged in to. */
export const PAGE_FACTS = tool('browser_tabs', { action: 'list' });
