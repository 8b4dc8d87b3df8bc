// Runs in Playwright's world of a document, with its injected script and the root of what is read: its tree of roles, names and states, and
// beside it what that tree leaves out or glues together. Refs, and what they lead to, stay Playwright's.
({ injected, elements }, { key, attributes, hasPseudo }, { normal, isApart, strings, guessOf, iconOf }) => {
  const [root] = elements;
  const refPrefix = injected._frameSeq ? `f${injected._frameSeq}` : '';
  const options = { mode: 'ai', refPrefix };
  const aria = injected.utils.generateAriaTree(root, options);
  injected._lastAriaSnapshotForQuery = aria;
  /** Elements with listeners of clicks, and the roots that `shadowRoot` does not give. */
  const { listens = new WeakSet(), roots = new WeakMap() } = globalThis[Symbol.for(key)] ?? {};

  const nodeOf = new Map();
  const collect = ({ children }) => {
    for (const child of children)
      if (typeof child !== 'string') {
        const [symbol] = Object.getOwnPropertySymbols(child);
        nodeOf.set(child[symbol], child);
        collect(child);
      }
  };
  collect(aria.root);

  const CONTROLS = new Set(attributes.controls);
  const NATIVE = 'a[href], button, input, select, textarea, summary, option, label, iframe, area';
  const PROSE = /^(?:P|LI|DD|DT|TD|TH|TR|ARTICLE|FIGURE)$/;
  /** Words of a text, whatever they stress. */
  const INLINE = new Set(['generic', 'strong', 'emphasis', 'code', 'mark', 'time', 'subscript', 'superscript']);
  const CLOSED_MAX = 50;
  /** A listener around more elements serves those in it. */
  const LISTENING_MAX = 40;
  const TEXT_MAX = 100_000;
  const styleOf = element => getComputedStyle(element);
  const isShown = (element, style) =>
    style.display === 'contents' || element.checkVisibility({ visibilityProperty: true });

  const [donor] = [...aria.refs.keys()].slice(-1);
  /** A number of Playwright's own: given to an element that has one, then to the other. */
  const allocateRef = element => {
    const known = element._ariaRef;
    if (known?.omicron === true) return known.ref;
    let ref = `${refPrefix}e${100_000 + Math.floor(Math.random() * 900_000)}`;
    if (donor !== undefined) {
      const own = donor._ariaRef;
      donor._ariaRef = undefined;
      injected.utils.generateAriaTree(donor, options);
      ref = donor._ariaRef?.ref ?? ref;
      donor._ariaRef = own;
    }
    element._ariaRef = { role: 'generic', name: '', ref, omicron: true };
    return ref;
  };
  const giveRef = (out, element) => {
    if (out.ref === undefined) {
      out.ref = aria.refs.get(element) ?? allocateRef(element);
      aria.info.set(out.ref, aria.info.get(out.ref) ?? { element, nameFromContentRefs: [] });
      aria.refs.set(element, out.ref);
    }
  };

  const isEditable = element =>
    (element.hasAttribute('contenteditable') || element.localName === 'body') &&
    element.isContentEditable &&
    (element.localName === 'body' || element.parentElement?.isContentEditable !== true);
  const hasBox = element => {
    const { width, height } = element.getBoundingClientRect();
    return width > 0 && height > 0;
  };

  /** A field that the page keeps beside the one that it draws: no pointer, no key and no eye gets there. */
  const isPutAway = element => {
    if (
      element.tabIndex >= 0 ||
      !element.matches('select, textarea, input:not([type=checkbox], [type=radio], [type=file])')
    )
      return false;
    const { width, height, right, bottom } = element.getBoundingClientRect();
    return Math.min(width, height) <= 1 || right + scrollX <= 0 || bottom + scrollY <= 0;
  };

  /** A field without a box of its own is clicked by its label, which draws it. */
  const isReached = element => hasBox(element) || [...(element.labels ?? [])].some(hasBox);

  // ---- What can be acted on without a role that says so.

  const dragged = [...root.querySelectorAll('[draggable=true]')].slice(0, 200);
  const drops = new Set(dragged.map(({ parentElement: parent }) => parent).filter(parent => parent && parent !== root));
  for (const drop of [...drops])
    for (const other of drop.parentElement?.children ?? []) if (other.localName === drop.localName) drops.add(other);
  /** No script here sees who listens for drops, and asking Chromium ends the process of a page with a video (156). */
  const DROP_NAME =
    /(?:^|[-_ ])(?:drop|dropzone|droppable|zone|bin|trash|basket|bucket|cart|lane|slot|target)(?:$|[-_ ])/i;
  const takesDrops = element =>
    drops.has(element) ||
    element.matches('[ondrop], [ondragover], [aria-dropeffect]') ||
    (dragged.length > 0 && DROP_NAME.test(`${element.id} ${element.getAttribute('class') ?? ''}`));

  /** Rows of a list or a table that listens for all of them, and cells of a grid among which the focus is moved. */
  const LISTS = 'ul, ol, menu, tbody, table, [role=list], [role=listbox], [role=tree], [role=grid], [role=menu]';
  const ROW = 'li, tr, [role=listitem], [role=row]';
  const CELL = ':is([role=row], [role=gridcell], [role=cell], [role=columnheader], [role=rowheader], td, th)[tabindex]';
  /** A table of all days of a month, in something that listens for all of them. */
  const calendars = new Map();
  const isCalendar = table => {
    if (!table) return false;
    if (!calendars.has(table)) {
      const texts = new Set(
        [...table.querySelectorAll('td')].slice(0, 60).map(({ textContent }) => textContent.trim()),
      );
      const holders = [
        table,
        table.parentElement,
        table.parentElement?.parentElement,
        table.parentElement?.parentElement?.parentElement,
      ];
      const isMonth = Array.from({ length: 28 }, (_, n) => String(n + 1)).every(day => texts.has(day));
      calendars.set(table, isMonth && holders.some(each => each && listens.has(each)));
    }
    return calendars.get(table);
  };
  const isDay = element =>
    element.localName === 'td' &&
    element.childElementCount === 0 &&
    /^\s*\d{1,2}\s*$/.test(element.textContent) &&
    isCalendar(element.closest('table'));

  const isServed = (element, parentStyle) => {
    if (isDay(element)) return true;
    if (element.hasAttribute('tabindex') && element.matches(CELL)) return true;
    const list = element.parentElement;
    if (!list) return false;
    const isHeard = listens.has(list) || (list.localName === 'tbody' && listens.has(list.parentElement));
    if (!isHeard && parentStyle?.cursor !== 'pointer') return false;
    return element.matches(ROW) && list.matches(LISTS) && element.querySelector(NATIVE) === null;
  };

  /** Things by which others are moved or made larger. */
  const HANDLE = /-resize$|^(?:grab|move)$/;
  const isHandle = ({ cursor }, parentStyle) => HANDLE.test(cursor) && parentStyle?.cursor !== cursor;

  const SHAPES = 'rect, circle, ellipse, polygon';
  const DRAWN_MAX = 40;
  const drawings = new WeakMap();
  /** Whether shapes of a drawing listen: the others are what those are dragged onto. */
  const isDrawnToActOn = drawing => {
    if (!drawings.has(drawing)) {
      const shapes = [...drawing.querySelectorAll(SHAPES)];
      drawings.set(drawing, shapes.length <= DRAWN_MAX && shapes.some(each => listens.has(each)));
    }
    return drawings.get(drawing);
  };
  const isShape = element =>
    element.ownerSVGElement != null && element.matches(SHAPES) && isDrawnToActOn(element.ownerSVGElement);

  const reactsByItself = (element, style, parentStyle) =>
    isServed(element, parentStyle) ||
    element.hasAttribute('onclick') ||
    (element.draggable === true && element.getAttribute('draggable') === 'true') ||
    takesDrops(element) ||
    (element.hasAttribute('tabindex') && element.tabIndex >= 0) ||
    (listens.has(element) && element.getElementsByTagName('*').length <= LISTENING_MAX) ||
    ((element.localName === 'video' || element.localName === 'audio') && element.controls) ||
    (style.cursor === 'pointer' && parentStyle?.cursor !== 'pointer') ||
    isHandle(style, parentStyle) ||
    isShape(element);

  const mayReact = element =>
    element !== root &&
    element.localName !== 'html' &&
    !element.isContentEditable &&
    !element.matches(NATIVE) &&
    !element.closest('a[href], button, summary, [role=button], [role=link], label');

  const hasInert = document.querySelector('[inert]') !== null;

  // ---- The walk.

  const visited = new Set();
  let last; // the text node before, with nothing between
  let closed = 0;

  const fieldText = element => {
    const value = element.value ?? '';
    return value.length <= TEXT_MAX && value !== normal(value) ? { text: value, exact: true } : { text: normal(value) };
  };

  const boundsOf = (element, role) => {
    const facts = {};
    const value = element.getAttribute('aria-valuetext') ?? element.getAttribute('aria-valuenow');
    const isNative = element.localName === 'input' || element.localName === 'progress' || element.localName === 'meter';
    if (!attributes.ranges.includes(role)) return facts;
    if (value !== null) facts.text = normal(value);
    else if (isNative && element.localName !== 'input' && element.position !== -1) facts.text = String(element.value);
    for (const bound of ['min', 'max']) {
      const own = element.getAttribute(`aria-value${bound}`) ?? (isNative ? element.getAttribute(bound) : null);
      if (own !== null) facts[bound] = own.slice(0, 40);
    }
    if (element.type === 'range') Object.assign(facts, { min: element.min || '0', max: element.max || '100' });
    return facts;
  };

  /** A label in place of a field that is not drawn: it is clicked like that field. */
  const labelledBy = element => {
    const field = element.localName === 'label' ? element.control : null;
    const isDrawn = field && hasBox(field) && field.checkVisibility({ visibilityProperty: true });
    if (!field || field.disabled || nodeOf.has(field) || isDrawn || !hasBox(element)) return undefined;
    if (element.querySelector('a[href], button, select, textarea') !== null) return undefined;
    const isTicked = field.type === 'checkbox' || field.type === 'radio';
    return {
      role: isTicked ? field.type : 'generic',
      ...(field.checked ? { checked: true } : {}),
      ...(element.title ? { name: normal(element.title).slice(0, TEXT_MAX) } : {}),
    };
  };

  const stateOf = (element, node) => {
    const out = {};
    for (const state of ['checked', 'disabled', 'expanded', 'invalid', 'level', 'pressed', 'selected', 'active'])
      if (node[state]) out[state] = node[state];
    if (hasInert && CONTROLS.has(node.role) && element.closest('[inert]') !== null) out.disabled = true;
    if (element.getAttribute('aria-expanded') === 'false') out.expanded = false;
    if (element.localName === 'summary' && element.parentElement?.localName === 'details')
      out.expanded = element.parentElement.open;
    if (element.required === true || element.getAttribute('aria-required') === 'true') out.required = true;
    if (
      element.readOnly === true &&
      !['checkbox', 'radio', 'range', 'color', 'file', 'button', 'submit', 'image', 'reset'].includes(element.type)
    )
      out.readonly = true;
    const sort = element.getAttribute('aria-sort');
    if (sort && sort !== 'none') out.sort = sort.slice(0, 20);
    const current = element.getAttribute('aria-current');
    if (current && current !== 'false') out.current = true;
    return out;
  };

  const placeholderOf = element => {
    const of = each => {
      const content = each ? getComputedStyle(each, '::before').content : '';
      return /^"(?:[^"\\]|\\.)+"/.test(content)
        ? JSON.parse(content.split('" / "')[0].replace(/\\([0-9a-f]{1,6}) ?/gi, ' '))
        : '';
    };
    const said =
      element.getAttribute('aria-placeholder') ??
      element.getAttribute('data-placeholder') ??
      element.getAttribute('placeholder');
    return normal(said ?? '') || normal(of(element)) || normal(of(element.firstElementChild));
  };

  const isLined = (element, style, parentStyle) =>
    style.whiteSpace !== 'normal' &&
    /^(?:pre|pre-wrap|pre-line|break-spaces)$/.test(style.whiteSpace) &&
    !/^pre/.test(parentStyle?.whiteSpace ?? '') &&
    !style.display.startsWith('inline') &&
    element.childElementCount < 5_000 &&
    /\n[^\n]*\S/.test(element.textContent ?? '') &&
    element.querySelector('a[href], button, input, select, textarea, [tabindex], [onclick]') === null;

  const visit = (out, node, parentShown, parentStyle) => {
    if (visited.has(node)) return;
    visited.add(node);
    if (node.nodeType === Node.TEXT_NODE) {
      if (!parentShown || out.isField || !node.data) return;
      if (isApart(last, node)) out.children.push(' ');
      out.children.push(node.data);
      last = node;
      return;
    }
    if (node.nodeType !== Node.ELEMENT_NODE) return;
    const element = node;
    const style = styleOf(element);
    const known = nodeOf.get(element);
    if (known !== undefined && isPutAway(element)) return;
    const shown = known !== undefined || isShown(element, style);
    if (element.localName === 'img' && element.useMap && shown) areas(out, element);
    if (shown) embedded(out, element);
    const isBlock = element.localName === 'br' || (style.display !== 'inline' && style.display !== 'contents');
    if (isBlock) last = undefined;
    if (known === undefined && !shown) return void walk(out, element, false, style, isBlock);
    const editable = isEditable(element) && known?.role !== 'textbox';
    const hidden = labelledBy(element);
    const opens = element.localName === 'summary' && element.parentElement?.localName === 'details';
    const reacts =
      (hidden !== undefined || opens || (reactsByItself(element, style, parentStyle) && mayReact(element))) &&
      hasBox(element) &&
      style.pointerEvents !== 'none';
    const lined = isLined(element, style, parentStyle) && !editable;
    const isProse =
      known === undefined ||
      (style.display === 'inline' &&
        element.localName !== 'label' &&
        INLINE.has(known.role) &&
        !known.name &&
        !known.active);
    if (isProse && !editable && !reacts && !lined) return void walk(out, element, true, style, isBlock);

    const own = {
      role: known?.role ?? (lined ? 'code' : 'generic'),
      children: [],
      ...stateOf(element, known ?? {}),
      ...hidden,
    };
    if (known?.name) own.name = normal(known.name) || undefined;
    if (known?.ref) own.ref = known.ref;
    if (known?.props.url !== undefined) own.url = known.props.url;
    if (known?.props.placeholder !== undefined) own.placeholder = known.props.placeholder;
    const bounds = boundsOf(element, own.role);
    if (element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement) {
      if (!['checkbox', 'radio', 'file'].includes(element.type) && bounds.text === undefined) {
        const { text, exact } = fieldText(element);
        if (text !== '' && text !== own.name) Object.assign(own, { text, ...(exact ? { exact } : {}) });
      }
      own.isField = true;
      walk(own, element, true, style, false);
    } else if (editable) {
      const text = (element.innerText ?? '').replace(/\n$/, '').slice(0, TEXT_MAX);
      const field =
        element.localName === 'td' || element.localName === 'th'
          ? { role: 'textbox', children: [] }
          : Object.assign(own, { role: 'textbox' });
      if (field !== own) {
        own.children.push(field);
        own.ref = undefined;
      }
      if (normal(text) !== '') Object.assign(field, text === normal(text) ? { text } : { text, exact: true });
      else if (placeholderOf(element) !== '') field.placeholder = placeholderOf(element);
      giveRef(field, element);
      field.acts = true;
      if (own.role === 'textbox' && !own.name) own.guess = guessOf(element);
    } else if (lined) {
      const text = (element.innerText ?? '').replace(/\n+$/, '').slice(0, TEXT_MAX);
      if (own.role === 'generic') own.role = 'code';
      own.name = undefined;
      own.lines = text.split('\n');
    } else {
      own.isField = own.role === 'textbox';
      walk(own, element, true, style, false);
    }
    Object.assign(own, bounds);
    finish(own, element, style, reacts);
    if (isBlock) out.children.push(' ');
    out.children.push(own);
    if (isBlock) out.children.push(' ');
    last = isBlock ? undefined : last;
  };

  const allText = ({ children, text, name }) =>
    children.length === 0
      ? (text ?? name ?? '')
      : children.map(child => (typeof child === 'string' ? child : allText(child))).join(' ');

  /** A cell or an item may say all with a picture. */
  const PICTURED = /^(?:TD|TH|LI|DD|DT)$/;
  const isPicture = ({ role, name, acts, children }) => role === 'img' && !name && !acts && children?.length === 0;
  const showsPictures = ({ name, text, children }) => !name && text === undefined && children.every(isPicture);

  function finish(own, element, style, reacts) {
    const isControl = CONTROLS.has(own.role);
    own.children = strings(own.children);
    const only = own.children.length === 1 && typeof own.children[0] === 'string' ? own.children[0] : undefined;
    const holds = own.children.some(child => child.acts === true || child.holds === true);
    if (own.name !== undefined && own.children.length > 0 && normal(allText(own)) === normal(own.name)) {
      // A name that only repeats what is in it.
      if (holds) own.name = undefined;
      else own.children = [];
    } else if (own.name !== undefined && own.children.includes(own.name))
      own.children = own.children.filter(child => child !== own.name);
    else if (only !== undefined && own.text === undefined) {
      own.text = only;
      own.children = [];
    }
    if (
      reacts &&
      (!holds ||
        PROSE.test(element.tagName) ||
        style.cursor === 'pointer' ||
        element.hasAttribute('onclick') ||
        takesDrops(element))
    ) {
      giveRef(own, element);
      own.acts = true;
    }
    const [sole] = own.children;
    const isPlain = sole?.role === 'generic' && !sole.acts && !sole.name && !sole.active && sole.children.length === 0;
    if (own.acts && own.text === undefined && own.children.length === 1 && isPlain && sole.text !== undefined) {
      own.text = sole.text;
      own.children = [];
    }
    if (isControl && own.role !== 'option' && own.ref === undefined && isReached(element)) giveRef(own, element);
    if (isControl) own.acts = true;
    own.holds = holds || own.acts === true;
    const isNameless = !own.name && own.text === undefined && !own.placeholder && own.children.length === 0;
    if (own.acts && isNameless && own.role !== 'iframe')
      own.guess = (style.cursor.endsWith('-resize') ? style.cursor : guessOf(element)) || undefined;
    else if (!own.acts && PICTURED.test(element.tagName) && element.firstElementChild && showsPictures(own))
      Object.assign(own, { guess: iconOf(element) || undefined, children: [] });
    own.isField = undefined;
  }

  function walk(out, element, shown, style, isBlock) {
    if (isBlock) out.children.push(' ');
    out.children.push((shown && pseudo(element, '::before')) || '');
    const assigned = element.localName === 'slot' ? element.assignedNodes() : [];
    const under = (nodes, within) => {
      const isFolded = element.localName === 'details' && !element.open;
      for (const child of nodes)
        if ((!within || !child.assignedSlot) && (!isFolded || child.localName === 'summary'))
          visit(out, child, shown, style);
    };
    if (assigned.length > 0) under(assigned, false);
    else {
      under(element.childNodes, true);
      const inner = element.shadowRoot ?? (closed < CLOSED_MAX ? roots.get(element) : undefined);
      if (inner) {
        if (!element.shadowRoot) closed += 1;
        under(inner.childNodes, false);
      }
    }
    const owned = element.getAttribute('aria-owns')?.split(/\s+/) ?? [];
    under(owned.map(id => document.getElementById(id)).filter(Boolean), false);
    out.children.push((shown && pseudo(element, '::after')) || '');
    if (isBlock) {
      out.children.push(' ');
      last = undefined;
    }
  }

  /** Its text, as Playwright gives it. */
  function pseudo(element, which) {
    if (!hasPseudo) return '';
    const style = getComputedStyle(element, which);
    const { content } = style;
    if (content === 'none' || content === 'normal' || style.display === 'none' || style.visibility === 'hidden')
      return '';
    const [, text] = /^"((?:[^"\\]|\\.)*)"/.exec(content) ?? [];
    if (!text) return '';
    const plain = text.replace(/\\(.)/g, '$1');
    return style.display === 'inline' ? plain : ` ${plain} `;
  }

  /** A PDF in the page, which headless browsers leave blank. */
  function embedded(out, element) {
    const url = { embed: element.src, object: element.data, iframe: element.src }[element.localName];
    if (!/^https?:/.test(url ?? '')) return;
    const isNamed = /\.pdf$/i.test(new URL(url).pathname);
    const isPdf =
      element.localName === 'iframe'
        ? isNamed && element.contentDocument?.URL === 'about:blank'
        : /^application\/(?:x-)?pdf\b/i.test(element.type) || (isNamed && element.type === '');
    if (!isPdf) return;
    const text = 'not drawn here; browser_navigate to its address gets the file, browser_file_read its text';
    out.children.push(' ', { role: 'document', name: 'PDF', text, url, children: [] }, ' ');
  }

  function areas(out, image) {
    const map = image.getRootNode().querySelector(`map[name="${CSS.escape(image.useMap.slice(1))}"]`);
    for (const area of map?.querySelectorAll('area') ?? []) {
      if (!area.href && !area.hasAttribute('onclick') && !listens.has(area)) continue;
      const link = {
        role: area.href ? 'link' : 'generic',
        name: normal(area.alt || area.title || area.ariaLabel || '') || undefined,
        url: area.getAttribute('href') ?? undefined,
        children: [],
        acts: true,
      };
      giveRef(link, area);
      out.children.push(link);
    }
  }

  const top = { children: [] };
  visit(top, root, true);
  const iframeRefs = [];
  const plain = ({ isField, holds, children, exact, ...node }) => {
    if (node.role === 'iframe' && node.ref) iframeRefs.push(node.ref);
    for (const [name, value] of Object.entries(node)) if (value === undefined || value === '') delete node[name];
    const below = children.map(child => (typeof child === 'string' ? child : plain(child)));
    return { ...node, ...(exact ? { exact } : {}), ...(below.length > 0 ? { children: below } : {}) };
  };
  const json = strings(top.children).map(child =>
    typeof child === 'string' ? { role: 'text', text: child } : plain(child),
  );
  // One string: Playwright would write each value with its kind.
  return JSON.stringify({ json, iframeRefs, closed });
};
