// Runs inside a page: asks the browser for addresses in every way that a page has. Each attempt settles.
const SETTLE_MS = 1500;
const UNTOLD_MS = 700; // ways that tell the page nothing

const element = (tag, attributes, done) => {
  const made = document.createElement(tag);
  made.onload = made.onerror = done;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  document.body.append(made);
  return made;
};

const WAYS = {
  fetch: (url, done) => fetch(url, { mode: 'no-cors' }).then(done, done),
  beacon: (url, done) => {
    navigator.sendBeacon(url, 'x');
    setTimeout(done, UNTOLD_MS);
  },
  image: (url, done) => element('img', { src: url }, done),
  script: (url, done) => element('script', { src: url }, done),
  iframe: (url, done) => element('iframe', { src: url }, done),
  websocket: (url, done) => {
    const socket = new WebSocket(url.replace(/^http/i, 'ws'));
    socket.onopen = socket.onerror = done;
  },
  'event source': (url, done) => {
    const source = new EventSource(url);
    source.onerror = () => {
      source.close();
      done();
    };
  },
  prefetch: (url, done) => element('link', { rel: 'prefetch', href: url }, done),
  form: (url, done) => {
    const name = `frame-${Math.random()}`;
    element('iframe', { name }, () => {});
    element('form', { action: url, method: 'post', target: name }, done).submit();
    setTimeout(done, UNTOLD_MS);
  },
  'window.open': (url, done) => {
    window.open(url);
    setTimeout(done, UNTOLD_MS);
  },
  download: (url, done) => {
    // Where the address is of another origin the browser opens it instead: in a tab of its own, so that this page
    // stays.
    element('a', { href: url, download: 'x', target: '_blank' }, done).click();
    setTimeout(done, UNTOLD_MS);
  },
  worker: (url, done) => {
    const code = `fetch(${JSON.stringify(url)}, {mode: 'no-cors'}).then(() => postMessage(1), () => postMessage(1))`;
    const worker = new Worker(URL.createObjectURL(new Blob([code])));
    worker.onmessage = () => {
      worker.terminate();
      done();
    };
  },
};

/** Tries every address in one way, all at once. */
globalThis.attempt = async (way, urls) => {
  const one = url =>
    new Promise(done => {
      setTimeout(done, SETTLE_MS);
      try {
        WAYS[way](url, done);
      } catch {
        done(); // the browser would not even begin
      }
    });
  await Promise.all(urls.map(one));
};
