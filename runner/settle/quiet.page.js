// Runs in a world of its own in a document, beside the page's: tells when the document is quiet after an action, and what it
// then shows; by `challengeIn`, what it asks of its person; by `state`, whether a snapshot would show something new.
(acting, challengeIn, state, { titleMax, unfit }) => {
  const BUSY_TEXT = /\b(loading|please wait|searching|saving|submitting|processing)\b|…$|\.\.\.$/i;
  const BUSY_CLASS = /spin|load|skelet|busy/i;
  const BUSY = '[aria-busy=true], [role=progressbar]:not([aria-valuenow])';
  /** What changes more often in one action moves by itself. */
  const CHANGES_MAX = 20;

  /** Of the last change that counts, since the action began; 0: there was none. */
  let changedMs = 0;
  let counts = new WeakMap();
  /** What was added last, or where the last change was. */
  let latest;
  let wake = () => {};
  /** They change while no action runs, or too often. */
  const restless = new WeakSet();
  const observed = new WeakSet();
  /** Documents and shadow roots; those that are gone are taken out when they are looked at. */
  const roots = new Set();

  const observer = new MutationObserver(list => {
    state.changed();
    for (const { type, target, attributeName, addedNodes } of list) {
      if (type === 'attributes' && attributeName === 'style') continue;
      for (const node of addedNodes) if (node.nodeType === 1) enter(node);
      if (!acting) restless.add(target);
      if (restless.has(target)) continue;
      const count = (counts.get(target) ?? 0) + 1;
      counts.set(target, count);
      if (count > CHANGES_MAX) restless.add(target);
      else
        changed(
          [...addedNodes].find(node => node.nodeType === 1) ?? (target.nodeType === 1 ? target : target.parentElement),
        );
    }
  });

  function changed(element) {
    changedMs = performance.now();
    latest = element ?? undefined;
    wake();
  }

  function observe(root) {
    if (!root || observed.has(root)) return;
    observed.add(root);
    roots.add(root);
    state.changed();
    observer.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
    enter(root);
  }

  /** Observers do not look into shadow roots and frames by themselves. */
  function enter(root) {
    for (const element of [root, ...root.querySelectorAll('*')]) {
      if (element.shadowRoot) observe(element.shadowRoot);
      if (element.localName !== 'iframe' && element.localName !== 'frame') continue;
      observe(element.contentDocument);
      if (observed.has(element)) continue;
      observed.add(element);
      element.addEventListener('load', () => {
        observe(element.contentDocument);
        if (acting) changed(element);
      });
    }
  }

  function isBusy() {
    if (changedMs === 0) return false;
    const text = (latest?.textContent ?? '').slice(0, 200).trim();
    if (latest?.isConnected && (BUSY_TEXT.test(text) || BUSY_CLASS.test(latest.getAttribute('class') ?? '')))
      return true;
    return document.querySelector(BUSY) !== null;
  }

  /** `named`: with a name for the state of what is shown, which takes a while in a large document. */
  function look(named) {
    let elements = 0;
    for (const root of roots) {
      if (!(root.host ?? root.documentElement)?.isConnected || root.defaultView === null) roots.delete(root);
      // Frames are counted for themselves.
      else if (root === document || root.host?.ownerDocument === document)
        elements += root.querySelectorAll('*').length;
    }
    if (named) for (const root of roots) enter(root);
    return {
      challenge: challengeIn(roots),
      elements,
      title: document.title.slice(0, titleMax),
      unfit: [...roots].some(root => root.querySelector(unfit) !== null),
      state: named ? state.of(roots) : null,
    };
  }

  observe(document);
  return {
    look,
    begin() {
      acting = true;
      changedMs = 0;
      latest = undefined;
      counts = new WeakMap();
    },
    end(named) {
      acting = false;
      return look(named);
    },
    /** Whether something changed since the action began that does not say that more is to come. */
    shows: () => changedMs > 0 && !isBusy(),
    /**
     * Resolves once nothing changed for `quietMs` after a change, or a request (`had`); for `firstMs` where there was none,
     * or where the page says that it is busy. After `capMs` in any case. With a `look`.
     */
    quiet({ quietMs, firstMs, capMs, had, named }) {
      enter(document);
      const startMs = performance.now();
      return new Promise(resolve => {
        let timer;
        wake = () => {
          const nowMs = performance.now();
          const wantedMs = (changedMs > 0 || had) && !isBusy() ? quietMs : firstMs;
          const sinceMs = had ? Math.max(changedMs, startMs) : changedMs || startMs;
          const leftMs = Math.min(sinceMs + wantedMs, startMs + capMs) - nowMs;
          clearTimeout(timer);
          if (leftMs > 0) timer = setTimeout(wake, leftMs);
          else {
            wake = () => {};
            resolve(look(named));
          }
        };
        wake();
      });
    },
  };
};
