// Called in a document: the texts that a person sees there, of its open shadow roots too; with `fields`, what fields hold and the names of
// what has no text.
fields => {
  const NAMED = '[aria-label], [alt], [placeholder], [title], [aria-valuetext]';
  const HELD = 'input:not([type=password]):not([type=hidden]), textarea, select';
  const rootsIn = root => [
    root,
    ...[...root.querySelectorAll('*')].flatMap(({ shadowRoot }) => (shadowRoot ? rootsIn(shadowRoot) : [])),
  ];
  // The text of what is not rendered is returned too, where it is asked itself.
  const textOf = element => (element?.checkVisibility() ? (element.innerText ?? '') : '');
  /** A root has no text of its own: that of its nodes, those in one line in one. */
  const textIn = root =>
    [...root.childNodes]
      .map(node => {
        if (node.nodeType !== 1) return node.nodeType === 3 ? node.data : '';
        const isInline = getComputedStyle(node).display === 'inline';
        return isInline ? textOf(node) : `\n${textOf(node)}\n`;
      })
      .join('');
  const isShown = element => element.checkVisibility({ visibilityProperty: true });
  const texts = rootsIn(document).flatMap(root => {
    const shown = [root === document ? textOf(document.body) : textIn(root)];
    if (!fields) return shown;
    const names = [...root.querySelectorAll(NAMED)]
      .filter(isShown)
      .flatMap(element =>
        ['aria-label', 'alt', 'placeholder', 'title', 'aria-valuetext'].map(name => element.getAttribute(name)),
      );
    const held = [...root.querySelectorAll(HELD)].filter(isShown).map(({ value }) => value);
    return [...shown, ...names, ...held];
  });
  return texts.filter(Boolean).join('\n');
};
