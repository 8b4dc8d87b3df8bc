// Runs in a document: guesses a word for what has no name, from what says something of its purpose.
normal => {
  const words = list => new Set(list.split(' '));
  /** Words of classes that say how something looks, or that it is a control. */
  const DULL = words(
    'btn button icon icons ico link item active disabled hidden fa fas far fal fab bi ti material glyphicon mdi svg img image small medium ' +
      'large sm md lg xs xl act box color colour square swatch circle circular dot shape base root wrapper container inner outer content element ' +
      'component control primary secondary default outline outlined contained filled text inherit rounded ghost light dark focus focusable ' +
      'hover clickable visible edge start end size flex block inline fixed relative absolute center transition ripple fab action group ' +
      'variant solid subtle is has no only',
  );
  /** Words of an icon's classes that say how it looks. */
  const ICON_DULL = words(
    'lg sm xs xl fw solid regular brands light thin button btn small large medium wrapper container root base inner outer primary secondary ' +
      'default white black inverse pulse spin active disabled',
  );
  /** Names with which component suites begin all of theirs. */
  const SUITES = words(
    'mui ant el v q p n t bp bp3 bp4 bp5 chakra mantine fui slds ion mat mdc cdk ui uk bx cds rs dx arco semi ivu layui van react jp lm gr md tw k',
  );
  const HASHED =
    /\d{3,}|^(?:css|sc|jsx|svelte|ng|v|_)-|^_|[a-z][A-Z][a-z]*[A-Z]|[a-zA-Z]\d[a-zA-Z]|^[wmphdgb][trblxy]?-\d/;
  const PREFIX =
    /^(?:fa|fas|far|fal|bi|icon|icons|ico|glyphicon|mdi|ti|ri|la|pi|anticon|lucide|feather|codicon|octicon|dashicons|ui-icon|bp\d-icon|el-icon|tabler-icon|material-symbols)-+/i;
  /** Whether a class says more than what suite it is of and how it looks. */
  const tells = name => {
    const [first = '', ...rest] = name.split(/[^\p{L}\p{N}]+|(?<=\p{Ll})(?=\p{Lu})/u).map(part => part.toLowerCase());
    const parts = SUITES.has(first) ? rest : [first, ...rest];
    return parts.some(part => part.length > 1 && !DULL.has(part));
  };
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
  /** Names for tests, which say what something is for. */
  const TESTED = ['data-testid', 'data-test', 'data-cy', 'data-qa'];
  const PARTS = /^(?:i|span|svg|use|img|title)$|-/;
  const HUES = 'red orange yellow green green green cyan blue blue purple magenta pink'.split(' ');
  /** Hues that have a name of their own where they are dark. */
  const DARK = { orange: 'brown', magenta: 'purple' };
  const DARK_MAX = 170;
  const colorNamed = color => {
    const [red, green, blue, alpha = 1] = (color.match(/[\d.]+/g) ?? []).map(Number);
    if (!color.startsWith('rgb') || alpha < 0.2) return '';
    const [most, least] = [Math.max(red, green, blue), Math.min(red, green, blue)];
    if (most - least < 25) return most < 60 ? 'black' : most > 220 ? 'white' : 'grey';
    const part = most - least;
    const turn =
      most === red ? (green - blue) / part : most === green ? 2 + (blue - red) / part : 4 + (red - green) / part;
    const hue = HUES[(Math.round(turn * 2) + 12) % 12];
    return (most < DARK_MAX && DARK[hue]) || hue;
  };
  const SHAPES = { rect: 'rectangle', circle: 'circle', ellipse: 'ellipse', line: 'line' };
  /** The color of a box, or the color and the form of a drawn one, that shows nothing else; empty: it has none of its own. */
  const lookOf = element => {
    if (element.childElementCount > 0 || element.matches('button, input, select, textarea, a[href], [contenteditable]'))
      return '';
    const { backgroundColor, backgroundImage, fill, stroke } = getComputedStyle(element);
    const corners = element.localName === 'polygon' ? element.points.numberOfItems : 0;
    const shape = SHAPES[element.localName] ?? (corners === 3 ? 'triangle' : corners > 3 ? 'polygon' : '');
    if (shape !== '') return [colorNamed(fill === 'none' ? stroke : fill), shape].filter(Boolean).join('-');
    if (backgroundImage !== 'none') return '';
    if (element.parentElement && getComputedStyle(element.parentElement).backgroundColor === backgroundColor) return '';
    return colorNamed(backgroundColor);
  };

  const partsOf = element => {
    const below = [...element.querySelectorAll('*')].slice(0, 40);
    return [element, ...below.filter(each => PARTS.test(each.localName))].slice(0, 8);
  };
  const classesOf = element => [...element.classList].filter(name => name.length < 40 && !HASHED.test(name));

  /** The name of an icon in its library, without the library's: a cross is named for its form. */
  const iconNamed = name => {
    const bare = name.replace(PREFIX, '');
    if (bare === 'x' || bare === 'x-lg') return 'close';
    return bare.split('-').some(part => part.length > 1 && !ICON_DULL.has(part)) ? word(bare) : '';
  };
  /** The name of the picture that an element draws, or what it says of itself; empty: neither. */
  const iconOf = element => {
    const parts = partsOf(element);
    for (const each of parts) {
      const described = each.getAttribute('aria-describedby');
      const said =
        each.getAttribute('title') ||
        each.getAttribute('data-tooltip') ||
        each.getAttribute('data-title') ||
        each.getAttribute('data-original-title') ||
        each.getAttribute('data-bs-original-title') ||
        (described && each.getRootNode().getElementById?.(described)?.textContent) ||
        (each.localName === 'title' ? each.textContent : '') ||
        (each.localName === 'use'
          ? (each.getAttribute('href') ?? each.getAttribute('xlink:href') ?? '').split('#')[1]
          : '') ||
        ICONS.map(name => each.getAttribute(name)).find(Boolean) ||
        (each.localName.endsWith('-icon') ? each.getAttribute('name') : '') ||
        (each.localName === 'img' ? each.alt || fileOf(each.getAttribute('src') ?? '') : '');
      const named = said && iconNamed(word(said.replace(/^\s*icon:\s*([^;]*).*$/s, '$1')) || said);
      if (named) return named;
    }
    for (const each of parts) {
      const tested = TESTED.map(name => each.getAttribute(name)).find(Boolean) ?? '';
      const named = /\d{3,}/.test(tested) ? '' : word(tested.replace(/(?<=\w)Icon$/, ''));
      if (named) return named;
    }
    for (const each of parts)
      for (const name of each.classList) {
        const named = name.length < 40 && PREFIX.test(name) && !/\d{3,}/.test(name) && iconNamed(name);
        if (named) return named;
      }
    return '';
  };

  const guessOf = element => {
    const icon = iconOf(element);
    if (icon !== '') return icon;
    const beside = new Set();
    for (const other of [...(element.parentElement?.children ?? [])].slice(0, 40))
      if (other !== element) for (const name of other.classList) beside.add(name);
    const look = lookOf(element);
    for (const each of partsOf(element)) {
      const all = classesOf(each).filter(tells);
      const own = each === element ? all.filter(name => !beside.has(name)) : all;
      const names = own.length > 0 ? own : look === '' ? all : [];
      const named = names.find(name => name.includes('-')) ?? names[0];
      if (named) return word(named);
    }
    if (look !== '') return look;
    if (element instanceof HTMLMediaElement) return element.localName;
    const id = element.getAttribute('id') ?? '';
    return word(id !== '' && !HASHED.test(id) ? id : element.getAttribute('name'));
  };

  return { guessOf, iconOf };
};
