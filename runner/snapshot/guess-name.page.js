// Runs in a document: guesses a word for what has no name, from what says something of its purpose.
normal => {
  const DULL =
    /^(?:btn|button|icon|icons|ico|link|item|active|disabled|hidden|fa|fas|far|fab|bi|ti|material-icons|glyphicon|mdi|svg|img|image|small|large|sm|md|lg|xs|act|w|h|d|p|m|box|color|colour|square|swatch|circle|dot|shape)$/i;
  const HASHED =
    /\d{3,}|^(?:css|sc|jsx|svelte|ng|v|_)-|^_|[a-z][A-Z][a-z]*[A-Z]|[a-zA-Z]\d[a-zA-Z]|^[wmphdgb][trblxy]?-\d/;
  const PREFIX =
    /^(?:fa|fas|far|bi|icon|icons|ico|glyphicon|mdi|ti|ri|la|lucide|feather|codicon|octicon|material-symbols)-+/i;
  /** Single characters say nothing, and a page could spell a text with them, one an element. */
  const word = text =>
    normal(text ?? '')
      .split(/[^\p{L}\p{N}]+/u)
      .filter(part => part.length > 1)
      .join('-')
      .slice(0, 40);
  const fileOf = address => /([^/?#]+?)(?:\.\w+)?(?:[?#].*)?$/.exec(address.startsWith('data:') ? '' : address)?.[1];
  /** Attributes in which libraries of icons have the name of one, and elements that draw it. */
  const ICONS = ['icon', 'uk-icon', 'data-icon', 'data-lucide', 'data-feather', 'mat-icon', 'svgicon', 'icon-name'];
  const PARTS = /^(?:i|span|svg|use|img|title)$|-/;
  const HUES = 'red orange yellow green green green cyan blue blue purple magenta pink'.split(' ');
  const colorNamed = color => {
    const [red, green, blue, alpha = 1] = (color.match(/[\d.]+/g) ?? []).map(Number);
    if (!color.startsWith('rgb') || alpha < 0.2) return '';
    const [most, least] = [Math.max(red, green, blue), Math.min(red, green, blue)];
    if (most - least < 25) return most < 60 ? 'black' : most > 220 ? 'white' : 'grey';
    const part = most - least;
    const turn =
      most === red ? (green - blue) / part : most === green ? 2 + (blue - red) / part : 4 + (red - green) / part;
    return HUES[(Math.round(turn * 2) + 12) % 12];
  };
  const SHAPES = { rect: 'rectangle', circle: 'circle', ellipse: 'ellipse', line: 'line' };
  /** The color of a box, or the color and the form of a drawn one, that shows nothing else; empty: it has none of its own. */
  const lookOf = element => {
    if (element.childElementCount > 0 || element.matches('button, input, select, textarea, a[href], [contenteditable]'))
      return '';
    const { backgroundColor, backgroundImage, fill } = getComputedStyle(element);
    const corners = element.localName === 'polygon' ? element.points.numberOfItems : 0;
    const shape = SHAPES[element.localName] ?? (corners === 3 ? 'triangle' : corners > 3 ? 'polygon' : '');
    if (shape !== '') return [colorNamed(fill), shape].filter(Boolean).join('-');
    if (backgroundImage !== 'none') return '';
    if (element.parentElement && getComputedStyle(element.parentElement).backgroundColor === backgroundColor) return '';
    return colorNamed(backgroundColor);
  };
  const guessOf = element => {
    const below = [...element.querySelectorAll('*')].slice(0, 40);
    const parts = [element, ...below.filter(each => PARTS.test(each.localName))].slice(0, 8);
    for (const each of parts) {
      const described = each.getAttribute('aria-describedby');
      const said =
        each.getAttribute('title') ||
        each.getAttribute('data-tooltip') ||
        each.getAttribute('data-title') ||
        each.getAttribute('data-original-title') ||
        (described && each.getRootNode().getElementById?.(described)?.textContent) ||
        (each.localName === 'title' ? each.textContent : '') ||
        (each.localName === 'use'
          ? (each.getAttribute('href') ?? each.getAttribute('xlink:href') ?? '').split('#')[1]
          : '') ||
        ICONS.map(name => each.getAttribute(name)).find(Boolean) ||
        (each.localName.endsWith('-icon') ? each.getAttribute('name') : '') ||
        (each.localName === 'img' ? each.alt || fileOf(each.getAttribute('src') ?? '') : '');
      const named = said && word(said.replace(/^\s*icon:\s*([^;]*).*$/s, '$1'));
      if (named) return named.replace(PREFIX, '');
    }
    const beside = new Set();
    for (const other of [...(element.parentElement?.children ?? [])].slice(0, 40))
      if (other !== element) for (const name of other.classList) beside.add(name);
    const look = lookOf(element);
    for (const each of parts) {
      const all = [...each.classList].filter(name => name.length < 40 && !DULL.test(name) && !HASHED.test(name));
      const own = each === element ? all.filter(name => !beside.has(name)) : all;
      const names = own.length > 0 ? own : look === '' ? all : [];
      const named = names.find(name => PREFIX.test(name)) ?? names.find(name => name.includes('-')) ?? names[0];
      if (named) return word(named.replace(PREFIX, ''));
    }
    if (look !== '') return look;
    if (element instanceof HTMLMediaElement) return element.localName;
    const id = element.getAttribute('id') ?? '';
    return word(id !== '' && !HASHED.test(id) ? id : element.getAttribute('name'));
  };

  return guessOf;
};
