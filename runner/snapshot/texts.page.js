// Runs in a document: texts as a person reads them, and whether two of them stand apart on the screen.
() => {
  /** Unseen characters, and those of private use: glyphs of icon fonts, which no reader has. */
  const UNREAD = /[\u200b\u00ad\ue000-\uf8ff]/g;
  const normal = text => text.replace(UNREAD, '').replace(/\s+/g, ' ').trim();

  const digit = /\d/;
  const rectAt = (node, offset) => {
    const range = document.createRange();
    range.setStart(node, offset);
    range.setEnd(node, offset + 1);
    return range.getBoundingClientRect();
  };
  /** Each takes a look at the layout; more of them are words of a list rather than parts of a word. */
  const LOOKS_MAX = 1_000;
  let looks = 0;
  const isApart = (last, node) => {
    const [before, text] = [last?.data ?? '', node.data];
    if (before === '' || text === '' || last.parentNode === node.parentNode) return false;
    if (/\s$/.test(before) || /^\s/.test(text)) return false;
    looks += 1;
    if (looks > LOOKS_MAX) return true;
    const [a, b] = [rectAt(last, before.length - 1), rectAt(node, 0)];
    if (a.height === 0 || b.height === 0) return false;
    const isOneLine = a.bottom > b.top && b.bottom > a.top;
    if (isOneLine && b.left - a.right > 3) return true;
    return digit.test(before.at(-1)) && digit.test(text[0]) && Math.abs(a.bottom - b.bottom) > a.height * 0.15;
  };

  const strings = children => {
    const merged = [];
    let text = '';
    const flush = () => {
      if (normal(text) !== '') merged.push(normal(text));
      text = '';
    };
    for (const child of children)
      if (typeof child === 'string') text += child;
      else {
        flush();
        merged.push(child);
      }
    flush();
    return merged;
  };

  return { normal, isApart, strings };
};
