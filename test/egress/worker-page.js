// Runs inside a page: has its service worker fetch addresses.
const { serviceWorker } = navigator;

globalThis.register = async () => {
  await serviceWorker.register('/worker.js');
  await serviceWorker.ready;
  if (serviceWorker.controller) return;
  await new Promise(done => serviceWorker.addEventListener('controllerchange', done, { once: true }));
};

/** The worker fetches these by itself; resolves when all have settled. */
globalThis.inBackground = async urls => {
  const tried = new Promise(done => serviceWorker.addEventListener('message', done, { once: true }));
  serviceWorker.controller.postMessage(urls);
  await tried;
};

/** The page asks its own site, and the worker answers from elsewhere. */
globalThis.instead = urls =>
  Promise.allSettled(urls.map(url => fetch(`/page?instead=${encodeURIComponent(url)}`))).then(() => {});
