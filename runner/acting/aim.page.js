// Called with the elements of a target: scrolls the first to where a person sees it, and returns where a hand meets it. `near` and `at` are
// points of the page's viewport, null where they cannot be known; `isThrough`: a clear layer of the same card lies over it, which a person
// does not see and clicks; `isOption`: it is an option of a closed list, which the browser draws itself; `isArea`: it is an area of a picture.
([element]) => {
  const NEAR = 3;
  /** A layer over nearly all that is seen is no part of a card: it waits for a click beside what it holds back. */
  const WHOLE = 0.9;
  const REPLACED = 'img, picture, video, audio, canvas, svg, iframe, object, embed, input, textarea, select, button';
  if (!element?.getClientRects) return null;
  if (element.localName === 'area') return aimAtArea();
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

  /** A point of the picture at which the area takes a click. */
  function aimAtArea() {
    const name = element.closest('map')?.name ?? '';
    const picture = element.getRootNode().querySelector(`img[usemap="#${CSS.escape(name)}"]`);
    if (!picture) return null;
    picture.scrollIntoViewIfNeeded();
    const box = picture.getBoundingClientRect();
    const given = element.coords.split(/[\s,]+/).map(Number);
    const corners = [];
    for (let at = 0; at + 1 < given.length; at += 2) corners.push([given[at], given[at + 1]]);
    const middle = points => [0, 1].map(axis => points.reduce((sum, point) => sum + point[axis], 0) / points.length);
    const points = element.shape === 'circle' ? corners.slice(0, 1) : [middle(corners)];
    for (const [n, corner] of corners.entries()) points.push(middle([corner, corners[(n + 2) % corners.length]]));
    if (element.shape === 'default')
      points.push([1, 1], [box.width / 2, box.height / 2], [box.width - 2, box.height - 2]);
    const [px, py] =
      points
        .map(([cx, cy]) => [cx + box.left + picture.clientLeft, cy + box.top + picture.clientTop])
        .find(([cx, cy]) => picture.getRootNode().elementFromPoint(cx, cy) === element) ?? [];
    const [dx, dy] = offset() ?? [];
    if (px === undefined || dx === undefined) return null;
    const point = { x: px + dx, y: py + dy };
    return { at: point, near: { x: point.x - 1, y: point.y - 1 }, isThrough: false, isArea: true };
  }

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
