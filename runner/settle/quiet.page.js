// Runs in a world of its own in a document, beside the page's: reports when the document is quiet after an action, and what it
// then shows; by `challengeIn`, what it asks of its person; by `state`, whether a snapshot would show something new.
(acting, challengeIn, state, { titleMax, unfit }) => {
  const BUSY_TEXT = /\b(loading|please wait|searching|saving|submitting|processing)\b|…$|\.\.\.$/i;
  const BUSY_CLASS = /spin|load|skelet|busy/i;
  const BUSY = '[aria-busy=true], [role=progressbar]:not([aria-valuenow])';
  /** A node that changes more often in one action is animated, and ignored. */
  const CHANGES_MAX = 20;

  /** A view that is drawn in the same breath as the address moves belongs to the new one. */
  const WITH_MOVE_MS = 50;
  /** Elements that a person sees although they have no text. */
  const PICTURES = 'img, svg, canvas, video, input, textarea, select';

  /** Time of the last change that counts, since the action began; 0: none. */
  let changedMs = 0;
  /** Time of the last move to another address within this document, since the action began; 0: none. */
  let movedMs = 0;
  /** Time of the last change that drew something, since the action began; 0: none. */
  let drawnMs = 0;
  /** Whether the focus or what is scrolled moved since the action began: the page may hear of that. */
  let shifted = false;
  let begun = false;
  let counts = new WeakMap();
  /** The node that was added last, or the place of the last change. */
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
      if (isDrawn(type, target, addedNodes)) drawnMs = performance.now();
      const count = (counts.get(target) ?? 0) + 1;
      counts.set(target, count);
      if (count > CHANGES_MAX) restless.add(target);
      else
        changed(
          [...addedNodes].find(node => node.nodeType === 1) ?? (target.nodeType === 1 ? target : target.parentElement),
        );
    }
  });

  /** Marks (a class, a title) come at once with another address; the view that belongs to it may come later, after the old one has faded. */
  function isDrawn(type, target, addedNodes) {
    if (type === 'attributes' || (target.nodeType === 1 ? target : target.parentElement)?.closest('head')) return false;
    return type === 'characterData' ? target.data.trim() !== '' : [...addedNodes].some(showsSomething);
  }

  const showsSomething = node =>
    node.nodeType === 1
      ? !node.matches('script, style, link') &&
        (node.textContent.trim() !== '' || node.matches(PICTURES) || node.querySelector(PICTURES) !== null)
      : node.nodeType === 3 && node.data.trim() !== '';

  /** A move between places of what the page shows (`#there`) brings no view. */
  function isPlace(from, to) {
    const [fromPage, fromName = ''] = from.split('#');
    const [toPage, toName = ''] = to.split('#');
    return fromPage === toPage && [fromName, toName].every(name => name === '' || hasPlace(decoded(name)));
  }

  const hasPlace = name => document.getElementById(name) !== null || document.getElementsByName(name).length > 0;

  function decoded(text) {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  }

  let address = location.href;
  // A document that cleans its address while it loads (`begun` is false) shows the same.
  globalThis.navigation?.addEventListener('currententrychange', ({ navigationType }) => {
    const from = address;
    address = location.href;
    if (!acting || (navigationType === 'replace' && (!begun || from === address)) || isPlace(from, address)) return;
    movedMs = performance.now();
    wake();
  });

  /** When the last of the movements that come to an end has ended, such as the fading of a view; one beyond `untilMs` is not waited for. */
  function movingUntil(nowMs, untilMs, isMeant = () => true) {
    const ends = document.getAnimations().map(({ playState, currentTime, playbackRate, effect }) => {
      const leftMs = (effect?.getComputedTiming().endTime - currentTime) / playbackRate;
      return playState === 'running' && leftMs > 0 && isMeant(effect.target) ? nowMs + leftMs : 0;
    });
    return Math.max(0, ...ends.filter(endMs => endMs < untilMs));
  }

  /** A layer before the page: the dialog for which it comes may follow it. */
  function coversWindow(element) {
    if (!element || getComputedStyle(element).position !== 'fixed') return false;
    const { left, top, right, bottom } = element.getBoundingClientRect();
    return left <= 0 && top <= 0 && right >= innerWidth && bottom >= innerHeight;
  }

  /** After a move the view that belongs to the new address comes in `viewMs`, and stands still then. */
  function viewUntil(nowMs, { quietMs, viewMs, untilMs }) {
    const movingMs = movingUntil(nowMs, untilMs, movedMs === 0 ? coversWindow : undefined);
    const stillMs = movingMs === 0 ? 0 : movingMs + quietMs;
    return movedMs !== 0 && drawnMs < movedMs - WITH_MOVE_MS ? Math.max(movedMs + viewMs, stillMs) : stillMs;
  }

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
      loading: document.readyState === 'loading',
      unfit: [...roots].some(root => root.querySelector(unfit) !== null),
      state: named ? state.of(roots) : null,
    };
  }

  for (const type of ['scroll', 'focusin', 'focusout'])
    addEventListener(
      type,
      () => {
        shifted = true;
        wake();
      },
      { capture: true, passive: true },
    );
  observe(document);
  return {
    look,
    begin() {
      acting = true;
      changedMs = 0;
      movedMs = 0;
      drawnMs = 0;
      shifted = false;
      begun = true;
      address = location.href;
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
     * or where the page says that it is busy (`unheardMs` where nothing moved either). After a move to another address within the document, the first thing drawn is waited for
     * `viewMs`, and what moves until it stands. After `capMs` in any case. With a `look`.
     */
    quiet({ quietMs, firstMs, unheardMs = firstMs, viewMs, capMs, had, named }) {
      enter(document);
      const startMs = performance.now();
      return new Promise(resolve => {
        let timer;
        wake = () => {
          const nowMs = performance.now();
          const noneMs = changedMs > 0 || had || shifted ? firstMs : unheardMs;
          const wantedMs = (changedMs > 0 || had) && !isBusy() ? quietMs : noneMs;
          const sinceMs = had ? Math.max(changedMs, startMs) : changedMs || startMs;
          const untilMs = startMs + capMs;
          const quietFromMs = Math.max(sinceMs + wantedMs, viewUntil(nowMs, { quietMs, viewMs, untilMs }));
          const leftMs = Math.min(quietFromMs, untilMs) - nowMs;
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
