// Runs in a world of its own in a document whose pictures are guarded: hides what holds a value that was filled in.
// Observers run as microtasks: what they hide is hidden before the next frame is painted, whatever changed it.
(fold, holding) => {
  const SECURE = '-webkit-text-security';
  const OPAQUE = ['opacity', '0'];
  const DISCS = [SECURE, 'disc'];
  const GONE = ['display', 'none'];
  // Elements that draw something other than text.
  const DRAWN = 'canvas, video, object, embed, img, input[type=image], svg *';
  const LEAVES = /^(canvas|video|object|embed|img|input|image|use|path|polygon|polyline|rect|circle|ellipse|line)$/;
  const GEOMETRY = ['d', 'points', 'x', 'y', 'x1', 'y1', 'x2', 'y2', 'cx', 'cy', 'r', 'rx', 'ry', 'width', 'height'];
  const HOSTS = /-|^(article|aside|blockquote|body|div|footer|h[1-6]|header|main|nav|p|section|span)$/;
  const CHARACTERS_MAX = 2_000_000;
  /** More than these are not read in each frame. */
  const RULES_MAX = 1_000;
  /** A picture may take this long. */
  const LOOP_MS = 10_000;
  const LEVELS = 4;

  let forms = [];
  let strict = false;
  const known = new Set();
  /** Hidden elements, and the style that hides each; a mark is never removed. */
  const marks = new WeakMap();
  const roots = new Map();
  /** Shadow roots of the browser's own, in fields: no page puts anything there. */
  const browsers = new WeakSet();
  const fields = new Set();
  const values = new WeakMap();
  let late = 0;
  let changes = 0;
  let tooBig = false;
  let fonts = 0;

  const isField = node => node instanceof HTMLInputElement || node instanceof HTMLTextAreaElement;
  const hit = text => text.length > 2 && holding([text], forms, fold).size > 0;

  function mark(element, [property, value]) {
    if (!element?.style) return;
    const mine =
      marks.get(element) ??
      new Map([
        ['transition', 'none'],
        ['animation', 'none'],
      ]);
    marks.set(element, mine.set(property, value));
    keep(element);
  }

  function keep(element) {
    for (const [property, value] of marks.get(element) ?? []) {
      const { style } = element;
      if (style.getPropertyPriority(property) !== 'important' || !style.getPropertyValue(property).startsWith(value))
        style.setProperty(property, value, 'important');
    }
  }

  /** A text is drawn in the style of the element around it, in the tree as it is drawn. */
  function markText(node) {
    const parent = node.parentNode;
    mark(parent instanceof ShadowRoot ? parent.host : parent, DISCS);
    if (node.assignedSlot) mark(node.assignedSlot, DISCS);
  }

  const markField = field => mark(field, DISCS);

  /** The list that opens is drawn by the browser, with what is displayed of the options. */
  function markOption(list, option) {
    mark(option, GONE);
    if (option.selected || list.multiple || list.size > 1) markField(list);
  }

  /** Texts in the order in which they are drawn, with what hides each. */
  function texts(node, found = []) {
    if (found.length > 200_000) tooBig = true;
    if (tooBig) return found;
    if (node.nodeType === 3) {
      if (node.data.trim() !== '') found.push([node.data, () => markText(node)]);
      return found;
    }
    const name = node.localName;
    if (/^(script|style|template|title)$/.test(name)) return found;
    if (name !== undefined) {
      if (isField(node) && node.value !== '') found.push([node.value, () => markField(node)]);
      for (const attribute of ['placeholder', 'alt', 'label']) {
        const text = node.getAttribute(attribute);
        if (text) found.push([text, () => mark(node, OPAQUE)]);
      }
      if (name === 'select')
        for (const option of node.options) found.push([option.label, () => markOption(node, option)]);
    }
    // A shadow root attached to an element that was already there: its content so far was not checked.
    if (node.shadowRoot && !roots.has(node)) {
      changes += 1;
      watch(node.shadowRoot);
    }
    const inside = roots.get(node);
    if (inside) for (const child of inside.childNodes) texts(child, found);
    if (name === 'textarea') return found;
    for (const child of node.childNodes) texts(child, found);
    return found;
  }

  function hideHeld(node) {
    if (forms.length === 0) return false;
    const found = texts(node);
    const held = holding(
      found.map(([text]) => text),
      forms,
      fold,
    );
    for (const index of held) found[index][1]();
    return held.size > 0;
  }

  /** The changed node with its surroundings: a value may be spread over neighbours. */
  function hideAround(node) {
    let top = node;
    for (let level = 0; level < LEVELS; level += 1) {
      const above = top.parentNode ?? top.host;
      if (!above || above === document || top === document.body) break;
      top = above;
    }
    hideHeld(top);
  }

  const keyOf = element =>
    [
      element.localName,
      element.currentSrc || element.getAttribute('src') || element.href?.baseVal || '',
      ...GEOMETRY.map(name => element.getAttribute(name) ?? ''),
    ].join(' ');

  /** Hides an element that may have drawn the value and cannot be read. */
  function hideDrawn(element) {
    if (!strict || !LEAVES.test(element.localName)) return;
    if (element.localName === 'input' && element.type !== 'image') return;
    const moving = element.localName === 'canvas' || element.localName === 'video';
    if (moving || !known.has(keyOf(element))) mark(element, OPAQUE);
  }

  function enter(root) {
    if (root.nodeType === 1) see(root);
    for (const element of root.querySelectorAll?.('*') ?? []) see(element);
  }

  function see(element) {
    if (element.shadowRoot) watch(element.shadowRoot);
    if (isField(element)) {
      fields.add(new WeakRef(element));
      if (element.type === 'password') markField(element);
    }
    hideDrawn(element);
  }

  /** It could have a closed shadow root, of which no observer learns. */
  const mayHideRoot = element => HOSTS.test(element.localName);
  const mayHideRoots = node => node.nodeType === 1 && [node, ...node.querySelectorAll('*')].some(mayHideRoot);

  const observer = new MutationObserver(list => {
    const around = new Set();
    for (const { type, target, attributeName, oldValue, addedNodes, removedNodes } of list) {
      if (type === 'attributes') {
        const given = target.getAttribute(attributeName);
        // A pseudo-element can draw the text of an attribute or of a style variable.
        const text = attributeName === 'style' ? stringsOf(given ?? '') : given;
        if (text && hit(text)) mark(target, isField(target) ? DISCS : OPAQUE);
        if (attributeName === 'style') keep(target);
        else {
          // A field that was one for passwords holds one.
          if (attributeName === 'type' && (oldValue === 'password' || target.type === 'password')) markField(target);
          hideDrawn(target);
        }
      } else {
        for (const node of addedNodes) if (node.nodeType === 1) enter(node);
        if (!browsers.has(target.getRootNode()) && [...addedNodes, ...removedNodes].some(mayHideRoots)) changes += 1;
        around.add(target);
      }
    }
    if (around.size > 50) hideHeld(document);
    else for (const node of around) hideAround(node);
  });

  const outermost = root => (roots.get(root.host) === root ? root : undefined);

  /** Watches a document or a shadow root; the browser's own, in a field, as well: a script sets a value without an event. */
  function watch(root) {
    if (root instanceof ShadowRoot) {
      if (outermost(root)) return;
      roots.set(root.host, root);
    }
    observer.observe(root, {
      ...{ subtree: true, childList: true, characterData: true },
      ...{ attributes: true, attributeOldValue: true },
    });
    root.addEventListener('input', event => check(event.composedPath()[0]), true);
    root.addEventListener('invalid', onInvalid, true);
    enter(root);
  }

  function check(field) {
    if (!isField(field) || values.get(field) === field.value) return false;
    values.set(field, field.value);
    if (!hit(field.value) || marks.get(field)?.has(SECURE)) return false;
    markField(field);
    return true;
  }

  /** Rules and animations can draw a value with no change of the document. Once one did, it is not known when it does. */
  let styled = false;
  let rules = 0;
  const allRoots = () => [document, ...roots.values()].filter(root => !browsers.has(root));

  /** Strings that a style can draw. Its numbers draw nothing, and its images are judged as images. */
  const stringsOf = style =>
    (style.replace(/url\("(?:[^"\\]|\\.)*"\)/g, '').match(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g) ?? []).join(' ');

  function textOfRules() {
    const found = [];
    for (const root of allRoots())
      for (const sheet of [...(root.styleSheets ?? []), ...(root.adoptedStyleSheets ?? [])])
        try {
          for (const { cssText } of sheet.cssRules) found.push(stringsOf(cssText));
        } catch {
          found.push(''); // of another site, which was not given the value
        }
    for (const root of allRoots())
      for (const { effect } of root.getAnimations())
        for (const frame of effect?.getKeyframes?.() ?? [])
          if (frame.content) found.push(stringsOf(String(frame.content)));
    return found;
  }

  function readRules() {
    const found = textOfRules();
    if (found.length !== rules) changes += 1;
    rules = found.length;
    if (!styled && hit(found.join(' '))) styled = true;
  }

  /** The browser draws what is wrong with a field beside it, with its title. */
  const messages = new Set();
  const messageOf = field => `${field.validationMessage ?? ''} ${field.title ?? ''}`;
  function onInvalid(event) {
    const field = event.composedPath()[0];
    if (hit(messageOf(field))) event.preventDefault();
    else messages.add(new WeakRef(field));
  }

  function eachFrame() {
    for (const reference of fields) {
      const field = reference.deref();
      if (field === undefined) fields.delete(reference);
      else if (check(field)) late += 1;
    }
    for (const reference of messages) {
      const field = reference.deref();
      if (!field?.matches(':focus')) messages.delete(reference);
      else if (hit(messageOf(field))) late += 1;
    }
    if (strict && rules <= RULES_MAX) readRules();
    looping = performance.now() < loopUntilMs;
    if (looping) requestAnimationFrame(eachFrame);
  }

  /** Changes that no observer sees are looked for in each frame, only while pictures are taken: that costs 7 % of a core. */
  let looping = false;
  let loopUntilMs = 0;
  function lookEachFrame() {
    loopUntilMs = performance.now() + LOOP_MS;
    if (looping) return;
    looping = true;
    requestAnimationFrame(eachFrame);
  }

  watch(document);
  lookEachFrame();

  return {
    /** From now on these are looked for. */
    learn(given) {
      forms = given;
      if (document.documentElement?.textContent.length > CHARACTERS_MAX) tooBig = true;
      return hideHeld(document);
    },
    /** From now on what is drawn and cannot be read is hidden, except what is there now where `asIs`. */
    strict(asIs) {
      if (strict) return;
      fonts = document.fonts.size;
      rules = textOfRules().length;
      const all = [document, ...roots.values()].flatMap(root => [...root.querySelectorAll(DRAWN)]);
      if (asIs) for (const element of all) known.add(keyOf(element));
      strict = true;
      for (const element of all) hideDrawn(element);
    },
    /** A root that only the browser's protocol can find. Counts as late if it holds a value that may have been painted. */
    adopt(root, isBrowsers) {
      if (outermost(root)) return;
      if (isBrowsers) browsers.add(root);
      watch(root);
      if (hideHeld(root)) late += 1;
    },
    hide(node, how) {
      if (how === 'discs' && node.nodeType === 3) markText(node);
      else {
        const element = node.nodeType === 1 ? node : (node.parentElement ?? node.getRootNode().host);
        mark(element, how === 'background' ? ['background-image', 'none'] : how === 'discs' ? DISCS : OPAQUE);
      }
    },
    report() {
      lookEachFrame();
      hideHeld(document);
      if (strict) readRules();
      return { late, changes, tooBig, styled, newFonts: strict && document.fonts.size > fonts };
    },
  };
};
