// Runs in a page whose elements with refs carry `data-sight-ref`, and those with listeners `data-sight-listens`: what a person can see and
// use there, by rules that share nothing with the snapshot's.
() => {
  const STRONG =
    'a[href], button, input:not([type=hidden]), select, textarea, details > summary:first-of-type, area[href], ' +
    '[role=button], [role=link], [role=textbox], [role=searchbox], [role=spinbutton], [role=slider], [role=combobox], ' +
    '[role=listbox], [role=option], [role=checkbox], [role=radio], [role=switch], [role=tab], [role=treeitem], ' +
    '[role=menuitem], [role=menuitemcheckbox], [role=menuitemradio]';
  const WEAK = '[tabindex], [onclick], [draggable=true], [data-sight-listens], [contenteditable]';
  const all = [];
  const collect = root => {
    for (const element of root.querySelectorAll('*')) {
      all.push(element);
      if (element.shadowRoot instanceof ShadowRoot) collect(element.shadowRoot);
    }
  };
  collect(document.body);

  const boxOf = element => element.getBoundingClientRect();
  const isSeen = element => {
    const { width, height, right, bottom } = boxOf(element);
    return (
      width > 2 &&
      height > 2 &&
      getComputedStyle(element).pointerEvents !== 'none' &&
      right + scrollX > 0 &&
      bottom + scrollY > 0 &&
      element.checkVisibility({ visibilityProperty: true, opacityProperty: true })
    );
  };
  const parentOf = element => element.parentElement ?? element.getRootNode().host;
  const isIn = (element, test) => {
    for (let at = parentOf(element); at; at = parentOf(at)) if (test(at)) return true;
    return false;
  };
  const isEditable = element =>
    element.hasAttribute('contenteditable') && element.isContentEditable && !element.parentElement?.isContentEditable;
  const isWeak = element =>
    (element.matches(WEAK) &&
      !(
        element.hasAttribute('tabindex') &&
        element.tabIndex < 0 &&
        !element.matches('[onclick], [data-sight-listens]')
      ) &&
      (!element.hasAttribute('contenteditable') || isEditable(element))) ||
    (getComputedStyle(element).cursor === 'pointer' &&
      getComputedStyle(parentOf(element) ?? element).cursor !== 'pointer');
  const areaOf = element => boxOf(element).width * boxOf(element).height;

  const strong = all.filter(
    element =>
      element.matches(STRONG) &&
      (element.localName === 'area' || isSeen(element)) &&
      !element.matches('[role=presentation]'),
  );
  const isStrong = new Set(strong);
  const weak = all.filter(
    element =>
      !isStrong.has(element) &&
      element.localName !== 'label' &&
      element.localName !== 'option' &&
      isWeak(element) &&
      isSeen(element) &&
      !isIn(element, each => isStrong.has(each) || each.isContentEditable) &&
      element.querySelectorAll('*').length <= 40 &&
      !strong.some(each => element.contains(each)),
  );
  const hasRef = element => element.hasAttribute('data-sight-ref');
  // A listener around one thing, and the thing itself, are one.
  const isShown = element =>
    hasRef(element) ||
    [...(element.labels ?? [])].some(hasRef) ||
    (!isStrong.has(element) &&
      (isIn(element, each => hasRef(each) && areaOf(each) <= areaOf(element) * 1.5) ||
        [...element.querySelectorAll('[data-sight-ref]')].length > 0));
  const pathOf = element => {
    const names = [];
    for (let at = element; at && names.length < 4; at = parentOf(at))
      names.unshift(
        `${at.localName}${at.id ? `#${at.id}` : ''}${[...at.classList]
          .slice(0, 2)
          .map(name => `.${name}`)
          .join('')}`,
      );
    return names.join(' > ');
  };
  const controls = [...strong, ...weak].map(element => ({
    path: pathOf(element),
    isShown: isShown(element),
    html: isShown(element) ? '' : element.outerHTML.slice(0, 200),
  }));

  const texts = [];
  const read = root => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const parent = node.parentElement ?? node.getRootNode().host;
      if (
        !/[\p{L}\p{N}]/u.test(node.data) ||
        !parent?.checkVisibility({ visibilityProperty: true, opacityProperty: true })
      )
        continue;
      if (parent.closest('script, style, noscript, template, option, title')) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      const { width, height, right, bottom } = range.getBoundingClientRect();
      if (width > 1 && height > 1 && right + scrollX > 0 && bottom + scrollY > 0)
        texts.push(node.data.replace(/\s+/g, ' ').trim());
    }
  };
  read(document.body);
  for (const { shadowRoot } of all) if (shadowRoot instanceof ShadowRoot) read(shadowRoot);
  return { controls, texts };
};
