// Called with the elements of a target: scrolls the first to where a person sees it, and tells where a hand meets it. `near` and `at` are
// points of the page's viewport, null where they cannot be known; `isThrough`: a clear layer of the same card lies over it, which a person
// does not see and clicks; `isOption`: it is an option of a closed list, which the browser draws itself.
([element]) => {
  const NEAR = 3;
  /** A layer over nearly all that is seen is no part of a card: it waits for a click beside what it holds back. */
  const WHOLE = 0.9;
  const REPLACED = 'img, picture, video, audio, canvas, svg, iframe, object, embed, input, textarea, select, button';
  if (!element?.getClientRects) return null;
  element.scrollIntoViewIfNeeded();
  const rect = [...element.getClientRects()].find(({ width, height }) => width * height > 1);
  if (!rect)
    return element.localName === 'option' && element.closest('select')
      ? { at: null, near: null, isThrough: false, isOption: true }
      : null;
  const [left, right] = [Math.max(rect.left, 0), Math.min(rect.right, innerWidth)];
  const [top, bottom] = [Math.max(rect.top, 0), Math.min(rect.bottom, innerHeight)];
  if (right - left < 1 || bottom - top < 1) return null;
  const [x, y] = [(left + right) / 2, (top + bottom) / 2];

  /** The place of this document in the page; undefined in a frame of another site. */
  function offset() {
    let [dx, dy] = [0, 0];
    for (let view = window; view !== view.parent; view = view.parent) {
      const frame = view.frameElement;
      if (frame === null) return undefined;
      const { x: frameX, y: frameY } = frame.getBoundingClientRect();
      [dx, dy] = [dx + frameX + frame.clientLeft, dy + frameY + frame.clientTop];
    }
    return [dx, dy];
  }

  const parentOf = node => node.assignedSlot ?? node.parentElement ?? node.getRootNode().host ?? null;
  function* pathOf(node) {
    for (let each = node; each; each = parentOf(each)) yield each;
  }
  const holds = (outer, inner) => [...pathOf(inner)].includes(outer);

  function hitAt() {
    let hit = document.elementFromPoint(x, y);
    while (hit?.shadowRoot?.elementFromPoint(x, y) && hit.shadowRoot.elementFromPoint(x, y) !== hit)
      hit = hit.shadowRoot.elementFromPoint(x, y);
    return hit;
  }

  const isClearStyle = ({ backgroundColor, backgroundImage, backdropFilter }) =>
    /^(transparent|rgba\(.*, 0\))$/.test(backgroundColor) && backgroundImage === 'none' && backdropFilter === 'none';
  /** The layer may be drawn beside the element's own box, as `a::after` of a card whose link is stretched over it. */
  const isInOwnBox = hit =>
    [...hit.getClientRects()].some(b => x >= b.left && x <= b.right && y >= b.top && y <= b.bottom);

  function isClear(hit) {
    for (const each of pathOf(hit)) {
      if (holds(each, element)) break;
      if (getComputedStyle(each).opacity === '0') return true;
    }
    if (!isInOwnBox(hit)) return ['::before', '::after'].every(part => isClearStyle(getComputedStyle(hit, part)));
    return (
      !hit.matches(REPLACED) &&
      hit.innerText.trim() === '' &&
      !hit.querySelector(REPLACED) &&
      isClearStyle(getComputedStyle(hit))
    );
  }

  function isPartOfCard(hit) {
    const card = [...pathOf(hit)].find(each => holds(each, element));
    const { width, height } = hit.getBoundingClientRect();
    const isWhole = width >= innerWidth * WHOLE && height >= innerHeight * WHOLE;
    return (
      card &&
      card !== document.body &&
      card !== document.documentElement &&
      !isWhole &&
      getComputedStyle(hit).position !== 'fixed'
    );
  }

  function isThrough() {
    const hit = hitAt();
    if (!hit || element.matches(':disabled') || holds(element, hit) || [...(hit.labels ?? [])].includes(element))
      return false;
    if (element.closest('label')?.control === hit || element.closest('button, a[href]')?.contains(hit)) return false;
    return isPartOfCard(hit) && isClear(hit);
  }

  const [dx, dy] = offset() ?? [];
  const inPage = (px, py) => (dx === undefined ? null : { x: px + dx, y: py + dy });
  return {
    at: inPage(x, y),
    near: inPage(x - Math.min(NEAR, (right - left) / 4), y - Math.min(NEAR, (bottom - top) / 4)),
    isThrough: Boolean(isThrough()),
  };
};
