// Runs in a world of its own in a document: names the state of what a snapshot of it shows. Two looks that find the same name saw
// the same; null: what is shown may change without a trace here.
() => {
  const FRAMES = 'iframe, frame, object, embed, fencedframe';
  const ownName = Math.random().toString(36).slice(2);
  let count = 0;
  let facts = [];

  const isMoving = root => root.getAnimations().some(({ pending, playState }) => pending || playState === 'running');

  function rulesIn(sheet) {
    try {
      return sheet.disabled ? -1 : sheet.cssRules.length;
    } catch {
      return 0; // of another origin: no script of the page changes its rules either
    }
  }

  /** State whose changes no mutation observer reports. */
  function* unobserved(root) {
    yield root.activeElement;
    for (const { value, checked, indeterminate, selectedOptions } of root.querySelectorAll('input, textarea, select'))
      yield* [value, checked, indeterminate, ...[...(selectedOptions ?? [])].map(({ index }) => index)];
    yield* root.querySelectorAll(':popover-open');
    for (const sheet of [...root.styleSheets, ...root.adoptedStyleSheets]) yield rulesIn(sheet);
    // Elements that are not rendered have an innerText too.
    for (const element of root === document ? [document.body] : root.children)
      yield element?.checkVisibility() === true ? element.innerText : undefined;
  }

  return {
    /** The document, or something in it, has changed. */
    changed() {
      count += 1;
    },
    of(roots) {
      const all = [...roots];
      if (all.some(root => root.querySelector(FRAMES) !== null || isMoving(root))) return null;
      const hovered = [...document.querySelectorAll(':hover')].at(-1);
      const found = [hovered, innerWidth, innerHeight, ...all.flatMap(root => [...unobserved(root)])];
      const isSame = found.length === facts.length && found.every((fact, n) => Object.is(fact, facts[n]));
      if (!isSame) count += 1;
      facts = found;
      return `${ownName}.${count}`;
    },
  };
};
