// Called in a document with what is wanted of it, its open shadow roots included: its `text`, `html` or `links`; or its `outline`, forms,
// fields and buttons, each with a selector that finds it again. Called with an element: the selector of that.
wanted => {
  const COUNT_MAX = 200;
  const LINKS_MAX = 501;
  /** The document and every open shadow root in it, outer ones first. */
  const rootsIn = root => {
    const hosts = [...root.querySelectorAll('*')].filter(element => element.shadowRoot);
    return [root, ...hosts.flatMap(host => rootsIn(host.shadowRoot))];
  };
  const roots = rootsIn(document);
  /** As Playwright's CSS selectors do, it looks into open shadow roots; one whose parts are in two roots is not unique here. */
  const unique = selector => {
    try {
      return roots.flatMap(root => [...root.querySelectorAll(selector)]).length === 1;
    } catch {
      return false;
    }
  };
  // A name that a build or a framework made up changes with the next visit.
  const stable = name => name && name.length < 64 && !/\d{4,}|[0-9a-f]{8,}|^:|^radix-|^ember\d|^react-/i.test(name);
  const quoted = value => JSON.stringify(value);

  /** The shortest of the lasting ways to name an element; where it came from in the tree, if there is none. */
  const selectorOf = element => {
    const tag = element.localName;
    if (stable(element.id) && unique(`#${CSS.escape(element.id)}`)) return `#${CSS.escape(element.id)}`;
    for (const name of [
      'data-testid',
      'data-test',
      'name',
      'autocomplete',
      'aria-label',
      'placeholder',
      'action',
      'type',
    ]) {
      const value = element.getAttribute(name);
      if (!value || value.length > 200) continue;
      const selector = `${tag}[${name}=${quoted(value)}]`;
      if (unique(selector)) return selector;
      const form = element.closest('form');
      if (form && form !== element && !element.matches('form')) {
        const within = `${selectorOf(form)} ${selector}`;
        if (unique(within)) return within;
      }
    }
    if (unique(tag)) return tag;
    const parent = element.parentElement;
    const host = element.getRootNode().host;
    if (!parent && host) {
      const among = [...element.parentNode.children].indexOf(element) + 1;
      return `${selectorOf(host)} ${tag}:nth-child(${among})`;
    }
    if (!parent) return tag;
    const nth = [...parent.children].indexOf(element) + 1;
    return `${selectorOf(parent)} > ${tag}:nth-child(${nth})`;
  };

  const shown = element => {
    const box = element.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && getComputedStyle(element).visibility !== 'hidden';
  };
  /** Pages draw these themselves, and hide the browser's own. */
  const DRAWN = 'input[type=checkbox], input[type=radio], input[type=file]';
  const usable = element =>
    shown(element) || (element.matches(DRAWN) && [...(element.labels ?? [])].some(label => shown(label)));
  const text = value => (value ?? '').replace(/\s+/g, ' ').trim().slice(0, 200);
  const labelOf = element =>
    text(
      element.getAttribute('aria-label') ||
        [...(element.labels ?? [])].map(label => label.innerText).join(' ') ||
        element.getAttribute('placeholder') ||
        element.getAttribute('title'),
    );
  const fieldOf = element => ({
    tag: element.localName,
    type: element.type ?? 'text',
    name: element.getAttribute('name') ?? '',
    label: labelOf(element),
    selector: selectorOf(element),
    required: element.required === true,
    disabled: element.disabled === true,
    autocomplete: element.getAttribute('autocomplete') ?? '',
    ...(element.localName === 'select' ? { options: [...element.options].slice(0, 50).map(o => text(o.text)) } : {}),
  });
  const FIELDS =
    'input:not([type=hidden]):not([type=submit]):not([type=button]):not([type=image]):not([type=reset]), select, textarea, [contenteditable=""], [contenteditable=true]';
  const BUTTONS =
    'button, input[type=submit], input[type=button], input[type=image], summary, ' +
    ['button', 'option', 'menuitem', 'tab', 'switch'].map(role => `[role=${role}]`).join(', ');
  const controlOf = element => ({
    text: text(element.innerText || element.value || labelOf(element)),
    selector: selectorOf(element),
  });
  const all = (within, selector) =>
    (within === document ? roots : [within])
      .flatMap(root => [...root.querySelectorAll(selector)])
      .filter(usable)
      .slice(0, COUNT_MAX);

  if (typeof wanted !== 'string') return selectorOf(wanted);
  if (wanted === 'text') {
    const texts = roots.map(root =>
      (root === document ? [document.body] : [...root.children]).map(e => e?.innerText ?? ''),
    );
    return texts.flat().filter(Boolean).join('\n');
  }
  if (wanted === 'html') {
    const { documentElement: root, doctype } = document;
    const inner = root.getHTML({ shadowRoots: roots.slice(1) });
    const outer = root.cloneNode().outerHTML;
    return `${doctype ? '<!DOCTYPE html>' : ''}${outer.replace(/<\/html>$/, '')}${inner}</html>`;
  }
  if (wanted === 'links')
    return roots
      .flatMap(root => [...root.querySelectorAll('a[href]')])
      .slice(0, LINKS_MAX)
      .map(a => ({
        // Parts far beyond the shown ones are left there.
        text: (a.innerText || a.getAttribute('aria-label') || '').trim().slice(0, 20_000),
        href: String(a.href).slice(0, 20_000),
      }));

  const forms = roots
    .flatMap(root => [...root.querySelectorAll('form')])
    .slice(0, COUNT_MAX)
    .map(form => {
      const submit = all(form, 'button:not([type=button]):not([type=reset]), input[type=submit], input[type=image]')[0];
      const action = new URL(form.getAttribute('action') || location.href, location.href);
      return {
        selector: selectorOf(form),
        method: form.method,
        action: (action.origin === 'null' ? action.href : action.origin + action.pathname).slice(0, 500),
        fields: all(form, FIELDS).map(fieldOf),
        submit: submit ? controlOf(submit) : null,
      };
    });
  return {
    forms,
    fields: all(document, FIELDS)
      .filter(element => !element.form)
      .map(fieldOf),
    buttons: all(document, BUTTONS).map(controlOf),
  };
};
