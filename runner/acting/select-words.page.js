// Called with an element and words of its text, or of the page's around it: returns where a hand begins and ends to select them (points of the
// document's viewport), or, in a field, selects them; null: neither shows them. A text between controls has no ref by which it could be named.
(element, words) => {
  const fold = text => text.replace(/\s+/g, ' ').toLowerCase();
  const wanted = fold(words).trim();
  if (wanted === '') return null;
  if (typeof element.value === 'string' && element.setSelectionRange) {
    const at = element.value.toLowerCase().indexOf(words.toLowerCase());
    if (at >= 0) {
      element.focus();
      element.setSelectionRange(at, at + words.length);
      return { isField: true };
    }
  }
  /** The places of the first and the last character in an element that shows the words. */
  const placesIn = root => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    const places = [];
    let text = '';
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (!node.parentElement?.checkVisibility({ visibilityProperty: true })) continue;
      for (let n = 0; n < node.data.length; n += 1) {
        const character = fold(node.data[n]);
        if (character === ' ' && (text === '' || text.endsWith(' '))) continue;
        text += character[0];
        places.push({ node, n });
      }
    }
    const at = text.indexOf(wanted);
    return at < 0 ? undefined : [places[at], places[at + wanted.length - 1]];
  };
  const found = placesIn(element) ?? placesIn(element.ownerDocument.body);
  if (found === undefined) return null;
  const [first, last] = found;
  const range = document.createRange();
  range.setStart(first.node, first.n);
  range.setEnd(last.node, last.n + 1);
  first.node.parentElement.scrollIntoViewIfNeeded();
  const boxes = [...range.getClientRects()].filter(({ width }) => width > 0);
  if (boxes.length === 0) return null;
  const [from, to] = [boxes[0], boxes.at(-1)];
  const isLeft = getComputedStyle(first.node.parentElement).direction === 'ltr';
  const middle = ({ top, height }) => top + height / 2;
  return {
    isField: false,
    from: { x: isLeft ? from.left : from.right, y: middle(from) },
    to: { x: isLeft ? to.right : to.left, y: middle(to) },
  };
};
