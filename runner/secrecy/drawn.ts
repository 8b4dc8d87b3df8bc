import type { CDPSession } from 'playwright-core';

/** Hides a node: its text as discs, its background, or all of it. */
export type Hiding = 'discs' | 'background' | 'opaque';

export interface DrawnText {
  readonly text: string;
  /** Id of the document in which it is. */
  readonly frameId: string;
  readonly backendNodeId: number;
  /** The style that hides it. */
  readonly hiding: Hiding;
}

/** Something drawn that is no text. A drawing with the same key as before shows the same. */
export interface DrawnThing {
  readonly key: string;
  readonly frameId: string;
  readonly backendNodeId: number;
  readonly hiding: Hiding;
}

/** The part of a page that one process draws, as its own renderer says. */
export interface Drawn {
  /** In the order of the document, one list a document. */
  readonly texts: readonly (readonly DrawnText[])[];
  /** The same texts by line and place on the page. */
  readonly lines: readonly (readonly DrawnText[])[];
  /** Contents that styles put beside texts. */
  readonly strokes: readonly (readonly DrawnText[])[];
  readonly things: readonly DrawnThing[];
  /** Boxes with neither text nor others in them: small ones can be the dots of a picture. */
  readonly emptyBoxes: number;
}

/** Values of these styles are drawn as text, though no text of the layout. */
const STROKES = ['hyphenate-character', 'text-emphasis-style'] as const;
const STYLES = [
  ...[
    '-webkit-text-security',
    'opacity',
    'overlay',
    ...STROKES,
    'filter',
    'backdrop-filter',
    'background-image',
    'mask-image',
    '-webkit-mask-box-image-source',
  ],
  ...['border-image-source', 'list-style-image', 'content', 'box-shadow', 'text-shadow', 'clip-path', 'd'],
] as const;
const FIRST_THING = STYLES.indexOf('filter');
/** A longer gradient, shadow or outline can draw letters. */
const PLAIN_STYLE_CHARACTERS_MAX = 300;
const SHAPES = /^(path|polygon|polyline|rect|circle|ellipse|line|use|image)$/;
const GEOMETRY = ['d', 'points', 'x', 'y', 'x1', 'y1', 'x2', 'y2', 'cx', 'cy', 'r', 'rx', 'ry', 'width', 'height'];
const NOT_TEXT = /^(hidden|checkbox|radio|range|color|file|image)$/;
const LINE_PX = 8;

type Snapshot = Awaited<ReturnType<typeof capture>>;
type DocumentSnapshot = Snapshot['documents'][number];

const capture = (session: CDPSession) =>
  session.send('DOMSnapshot.captureSnapshot', { computedStyles: [...STYLES], includeDOMRects: false });

/** Reads it from the layout itself: closed shadow roots and pseudo-elements included, hidden text as it is drawn. */
export async function readDrawn(session: CDPSession): Promise<Drawn> {
  const { documents, strings } = await capture(session);
  const parts = documents.map(document => drawnIn(document, strings));
  return {
    texts: parts.map(({ texts }) => texts),
    lines: parts.map(({ lines }) => lines),
    strokes: parts.map(({ strokes }) => strokes),
    things: parts.flatMap(({ things }) => things),
    emptyBoxes: parts.reduce((sum, { emptyBoxes }) => sum + emptyBoxes, 0),
  };
}

function drawnIn(document: DocumentSnapshot, strings: readonly string[]) {
  const { nodes, layout } = document;
  const string = (index: number | undefined): string => strings[index ?? -1] ?? '';
  const frameId = string(document.frameId);
  const rare = (data: { index: number[]; value: number[] } | undefined): Map<number, string> =>
    new Map(data?.index.map((node, at) => [node, string(data.value[at])]));
  const [inputs, areas] = [rare(nodes.inputValue), rare(nodes.textValue)];
  const sources = rare(nodes.currentSourceURL);
  const parentOf = (node: number): number => nodes.parentIndex?.[node] ?? -1;
  const nameOf = (node: number): string => string(nodes.nodeName?.[node]);
  const idOf = (node: number): number => nodes.backendNodeId?.[node] ?? 0;
  const attributesOf = (node: number): Map<string, string> => {
    const list = nodes.attributes?.[node] ?? [];
    return new Map(
      Array.from({ length: list.length / 2 }, (_, at) => [string(list[2 * at]), string(list[2 * at + 1])]),
    );
  };
  const elementOf = (node: number): number => {
    let element = node;
    while (element > 0 && (nodes.nodeType?.[element] !== 1 || nameOf(element).startsWith('::')))
      element = parentOf(element);
    return element;
  };
  const styleOf = new Map(layout.nodeIndex.map((node, at) => [node, layout.styles[at] ?? []]));
  const computed = (node: number, style: (typeof STYLES)[number]): string =>
    string(styleOf.get(node)?.[STYLES.indexOf(style)]);
  const isOpaque = (element: number): boolean => {
    for (let node = element; node > 0; node = parentOf(node)) {
      if (computed(node, 'opacity') === '0') return true;
      // An element on top of all is not drawn inside of those around it.
      if (computed(node, 'overlay') === 'auto') return false;
    }
    return false;
  };

  const texts: DrawnText[] = [];
  const strokes: DrawnText[] = [];
  const things: DrawnThing[] = [];
  const byLayout = new Map<number, DrawnText>();
  const hasChild = new Set(layout.nodeIndex.map(node => parentOf(node)));
  let emptyBoxes = 0;
  const options = selectedTexts(document, strings);

  // An image of a filter is no part of the layout.
  const hasFilterImage = nodes.nodeName?.some(name => string(name).toLowerCase() === 'feimage') === true;

  const addText = (node: number, text: string, hiding: Hiding, to = texts): DrawnText | undefined => {
    if (text.trim() === '') return undefined;
    const element = elementOf(node);
    if (isOpaque(element)) return undefined;
    if (hiding === 'discs' && node === element && computed(node, '-webkit-text-security') === 'disc') return undefined;
    const isText = nodes.nodeType?.[node] === 3 && nodes.nodeType[parentOf(node)] !== 11;
    const added = { text, frameId, backendNodeId: idOf(isText ? node : element), hiding };
    to.push(added);
    return added;
  };

  const addThing = (node: number, key: string, hiding: Hiding): void => {
    const element = elementOf(node);
    if (!isOpaque(element)) things.push({ key, frameId, backendNodeId: idOf(element), hiding });
  };

  layout.nodeIndex.forEach((node, at) => {
    const text = layout.text[at] ?? -1;
    const name = nameOf(node);
    if (text >= 0) {
      const added = addText(node, string(text), 'discs');
      if (added !== undefined) byLayout.set(at, added);
    } else if (!hasChild.has(node)) emptyBoxes += 1;
    if (name === 'INPUT' || name === 'TEXTAREA' || name === 'SELECT') {
      const attributes = attributesOf(node);
      const type = attributes.get('type')?.toLowerCase() ?? 'text';
      if (!NOT_TEXT.test(type)) addText(node, inputs.get(node) ?? areas.get(node) ?? options.get(node) ?? '', 'discs');
      addText(node, attributes.get('placeholder') ?? '', 'opaque');
    }
    const thing = thingOf(name, () => attributesOf(node), sources.get(node));
    if (thing !== undefined) addThing(node, thing, 'opaque');
    if (name === 'IMG') addText(node, attributesOf(node).get('alt') ?? '', 'opaque');
    for (const style of STROKES) addText(node, /^"(.*)"$/.exec(computed(node, style))?.[1] ?? '', 'opaque', strokes);
    for (const style of STYLES.slice(FIRST_THING)) {
      const value = computed(node, style);
      if (!/url\(|paint\(|-webkit-canvas|image-set\(/.test(value) && value.length <= PLAIN_STYLE_CHARACTERS_MAX)
        continue;
      const own = style === 'background-image' && nodes.nodeType?.[node] === 1 && !name.startsWith('::');
      const filtered = hasFilterImage && style.endsWith('filter');
      addThing(node, `${filtered ? FILTER_IMAGE : style} ${value}`, own ? 'background' : 'opaque');
    }
  });

  const lines = inReadingOrder(document, strings, byLayout);
  return { texts, lines, strokes, things, emptyBoxes };
}

/** The same texts box by box, a line after the other, each from left to right. */
function inReadingOrder(
  { layout, textBoxes }: DocumentSnapshot,
  strings: readonly string[],
  byLayout: ReadonlyMap<number, DrawnText>,
): DrawnText[] {
  const boxes = textBoxes.layoutIndex.map((index, at) => {
    const [x = 0, y = 0, , height = 0] = textBoxes.bounds[at] ?? [];
    const start = textBoxes.start[at] ?? 0;
    const whole = strings[layout.text[index] ?? -1] ?? '';
    const text = whole.slice(start, start + (textBoxes.length[at] ?? 0));
    return { index, text, x, middle: y + height / 2, line: 0 };
  });
  boxes.sort((a, b) => a.middle - b.middle);
  boxes.forEach((box, at) => {
    const above = boxes[at - 1];
    if (above !== undefined) box.line = above.line + (box.middle - above.middle > LINE_PX ? 1 : 0);
  });
  boxes.sort((a, b) => a.line - b.line || a.x - b.x);
  return boxes.flatMap(({ index, text }) => {
    const drawn = byLayout.get(index);
    return drawn === undefined ? [] : [{ ...drawn, text }];
  });
}

function thingOf(name: string, attributes: () => Map<string, string>, source: string | undefined): string | undefined {
  if (name === 'IMG' || source !== undefined) return `image ${source ?? ''}`;
  if (/^(CANVAS|VIDEO|OBJECT|EMBED)$/.test(name)) return name;
  if (!SHAPES.test(name)) return undefined;
  const given = attributes();
  const href = given.get('href') ?? given.get('xlink:href') ?? '';
  return [name, href, ...GEOMETRY.map(each => given.get(each) ?? '')].join(' ');
}

/** The text of a closed list: the texts of its chosen options, which have no layout of their own. */
function selectedTexts({ nodes }: DocumentSnapshot, strings: readonly string[]): Map<number, string> {
  const texts = new Map<number, string>();
  const selected = new Set(nodes.optionSelected?.index);
  if (selected.size === 0) return texts;
  nodes.nodeType?.forEach((type, node) => {
    if (type !== 3) return;
    let option = node;
    while (option > 0 && !selected.has(option)) option = nodes.parentIndex?.[option] ?? -1;
    if (option <= 0) return;
    let list = option;
    while (list > 0 && strings[nodes.nodeName?.[list] ?? -1] !== 'SELECT') list = nodes.parentIndex?.[list] ?? -1;
    if (list > 0) texts.set(list, (texts.get(list) ?? '') + (strings[nodes.nodeValue?.[node] ?? -1] ?? ''));
  });
  return texts;
}

const FILTER_IMAGE = 'image of a filter';

/** Such a thing may show something else at any time. */
export const isMoving = ({ key }: DrawnThing): boolean =>
  key.startsWith(FILTER_IMAGE) || /^(CANVAS|VIDEO|OBJECT|EMBED)$|paint\(/.test(key);
