// Runs inside a page: asks the browser for addresses in every way that a page has.

const element = (tag, attributes) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  document.body.append(made);
  return made;
};

const WAYS = {
  fetch: url => fetch(url, { mode: 'no-cors' }).catch(() => {}),
  beacon: url => navigator.sendBeacon(url, 'x'),
  image: url => element('img', { src: url }),
  script: url => element('script', { src: url }),
  iframe: url => element('iframe', { src: url }),
  websocket: url => new WebSocket(url.replace(/^http/i, 'ws')),
  'event source': url => {
    const source = new EventSource(url);
    source.onerror = () => source.close(); // it would ask again
  },
  prefetch: url => element('link', { rel: 'prefetch', href: url }),
  form: url => {
    const name = `frame-${Math.random()}`;
    element('iframe', { name });
    element('form', { action: url, method: 'post', target: name }).submit();
  },
  'window.open': url => window.open(url),
  download: url => {
    // If the address is of another origin, the browser opens it instead: in a tab of its own, so that this page
    // stays.
    element('a', { href: url, download: 'x', target: '_blank' }).click();
  },
  worker: url => {
    const code = `fetch(${JSON.stringify(url)}, {mode: 'no-cors'}).then(() => postMessage(1), () => postMessage(1))`;
    const worker = new Worker(URL.createObjectURL(new Blob([code])));
    worker.onmessage = () => worker.terminate();
  },
};

/** Tries every address in one way, all at once; the test sees at the proxy which were asked for. */
globalThis.attempt = (way, urls) => {
  for (const url of urls)
    try {
      WAYS[way](url);
    } catch {
      // the browser would not even begin
    }
};
