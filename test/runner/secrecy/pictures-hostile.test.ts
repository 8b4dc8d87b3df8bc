import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openSearch } from '../../search.ts';
import { expectNoLeak } from './expect-no-leak.ts';
import { always, at, COPY, FIELD, onFill, type PictureSite, STYLE, startPictureSite, svg } from './picture-site.ts';

const BOX = 'position:absolute;left:0;top:100px;width:400px;height:60px';
const css = (rule: string) => `<style>${rule}</style>`;
/** A rule of a style sheet that comes with the value; `V` is the value. */
const ruled = (rule: string, html = COPY) =>
  `${FIELD}${html}<style id=s></style>${onFill(`s.textContent = ${JSON.stringify(rule)}.replaceAll('V', p.value)`)}`;
const LISTS = css('select, option, optgroup { color: #0f0; font: 24px DejaVu Sans }');
const html = (markup: string) =>
  FIELD + COPY + onFill(`m.innerHTML = ${JSON.stringify(markup)}.replaceAll('V', p.value)`);
const inSvg = (markup: string) =>
  `${FIELD}<svg id=m style="${BOX}" width=400 height=60 viewBox="0 0 400 60"></svg>${onFill(`m.innerHTML = ${JSON.stringify(markup)}.replaceAll('V', p.value)`)}`;
const DRAW = "g.fillStyle = '#0f0'; for (let i = 0; i < 12; i++) g.fillRect(i * 20, 0, 18, 40)";
const ART = 'fill=#0f0 y=40 font-size=24';
const image = (text = 'p.value') => `'data:image/svg+xml,' + encodeURIComponent(${svg(text)})`;

/** How else a page may draw the value. */
const PAGES: Record<string, string> = {
  // other elements
  'a button of the old kind': `${FIELD}<input type=button id=m style="${at(100)}">${onFill('m.value = p.value')}`,
  'a summary': html('<details><summary>V</summary></details>'),
  'details that open':
    html('<details><summary>x</summary><p>V</details>') + always("document.querySelector('details').open = true"),
  'a marquee': html('<marquee>V</marquee>'),
  'a legend': html('<fieldset><legend>V</legend></fieldset>'),
  'a ruby': html('<ruby>x<rt style="font-size:24px">V</rt></ruby>'),
  'a group of a list':
    html('<select size=4 style="height:100px;width:300px"><optgroup label="V"><option>x</optgroup></select>') + LISTS,
  'an option by its label': html('<select><option label="V"></select>') + LISTS,
  'a list of several': html('<select multiple style="height:100px;width:300px"><option>x<option>V</select>') + LISTS,
  'a list with a style of its own': html(
    `<style>select,::picker(select){appearance:base-select}</style><select><option>V</select>`,
  ),
  mathematics: html('<math><mtext>V</mtext></math>'),
  'an element without a style':
    FIELD +
    COPY +
    onFill("const e = document.createElementNS('urn:x', 'x'); e.textContent = p.value; m.replaceChildren(e)"),
  'the text of an image that is not there': html('<img src="data:," alt="V" style="width:300px;height:40px">'),
  'a text area that cannot be edited': html('<textarea readonly style="font:24px DejaVu Sans;color:#0f0">V</textarea>'),
  'an output': `${FIELD}<output id=m style="${at(100)}"></output>${onFill('m.value = p.value')}`,
  'a popover': `${FIELD}<div popover id=m style="${STYLE}"></div>${onFill('m.textContent = p.value; m.showPopover()')}`,
  'a list that is open': `${FIELD}<select id=m style="${at(100)}"><option>x<option id=o style="color:#0f0"></select>${onFill('o.textContent = p.value + p.value')}`,
  // styles
  'a rule that shows a variable':
    FIELD + COPY + css('#m::after { content: var(--v) }') + onFill("m.style.setProperty('--v', '\"' + p.value + '\"')"),
  'a rule that is changed in place':
    FIELD +
    COPY +
    css('#m::after { content: "" }') +
    always(
      "const { style } = document.styleSheets[0].cssRules[0]; style.content = style.content === '\"\"' ? '\"' + p.value + '\"' : '\"\"'",
    ),
  'a rule that is changed in each frame':
    FIELD +
    COPY +
    css('#m::after { content: "" }') +
    "<script>let n = 0; (function f() { const { style } = document.styleSheets[0].cssRules[0]; style.content = n++ % 2 ? '\"' + p.value + '\"' : '\"\"'; requestAnimationFrame(f) })()</script>",
  'a rule for some frames only':
    ruled('.on::after { content: "V" }') +
    '<script>let n = 0; (function f() { m.className = n++ % 3 ? "" : "on"; requestAnimationFrame(f) })()</script>',
  'an adopted style sheet':
    FIELD +
    COPY +
    '<script>const c = new CSSStyleSheet(); document.adoptedStyleSheets = [c]</script>' +
    always(
      "c.replaceSync(c.cssRules[0]?.style.content === 'none' ? '#m::after { content: \"' + p.value + '\" }' : '#m::after { content: none }')",
    ),
  'an animation of a rule': ruled(
    '#m::after { content: ""; animation: k .2s infinite } @keyframes k { 50%, 70% { content: "V" } }',
  ),
  'an animation of a script':
    FIELD +
    COPY +
    css('#m::after { content: "" }') +
    onFill(
      "m.animate([{ content: '\"\"' }, { content: '\"' + p.value + '\"' }, { content: '\"\"' }], { duration: 200, iterations: Infinity, pseudoElement: '::after' })",
    ),
  'a counter': ruled(
    '@counter-style c { system: cyclic; symbols: "V"; suffix: "" } #m { counter-reset: c 1 } #m::before { content: counter(c, c) }',
  ),
  'a marker': ruled('#m { display: list-item; list-style: "V" inside }'),
  'a marker outside': ruled('#m { display: list-item; list-style: "V" outside; margin-left: 400px }'),
  quotes: ruled('#m { quotes: "V" "x" } #m::before { content: open-quote }'),
  'a hyphen': ruled(
    '#m { hyphenate-character: "V"; hyphens: manual; width: 20px }',
    `<div id=m style="${at(100)}">a&shy;bbbbbbbbbbbbbbbbbbbbbbbbbbb</div>`,
  ),
  'marks above letters':
    FIELD +
    COPY +
    onFill(
      "m.innerHTML = [...p.value].map(c => '<i style=\"font-size:40px;color:#fff;text-emphasis:\\'' + c + '\\' #0f0\">a</i>').join('')",
    ),
  'a background of a blob': `${FIELD}<div id=m style="${BOX}"></div>${onFill(`m.style.background = 'url(' + URL.createObjectURL(new Blob([${svg('p.value')}], { type: 'image/svg+xml' })) + ')'`)}`,
  'a mix of images': `${FIELD}<div id=m style="${BOX}"></div>${onFill(`m.style.backgroundImage = '-webkit-cross-fade(url("' + ${image("'x'")} + '"), url("' + ${image()} + '"), 90%)'`)}`,
  'a border': `${FIELD}<div id=m style="${BOX};border:30px solid"></div>${onFill(`m.style.borderImage = 'url("' + ${image()} + '") 30 fill'`)}`,
  'an image in a text': `${FIELD}<div id=m style="${BOX}"></div><style id=s></style>${onFill(`s.textContent = '#m::before { content: url("' + ${image()} + '") }'`)}`,
  'a filter': `${FIELD}<svg width=0 height=0><filter id=f x=0 y=0 width=1 height=1><feImage id=g width=400 height=60 /></filter></svg><div style="${BOX};background:#fff;filter:url(#f)">x</div>${onFill(`g.setAttribute('href', ${image()})`)}`,
  'a mask': `${FIELD}<div id=m style="${BOX};background:#0f0;mask-image:linear-gradient(transparent,transparent)"></div>${onFill(`m.style.maskImage = 'url("' + ${image()} + '")'`)}`,
  'a reflection': ruled('#m { -webkit-box-reflect: below }') + onFill('m.textContent = p.value'),
  'letters of a first line':
    ruled(
      '#m::first-letter { -webkit-text-security: none !important; font-size: 30px } #m::first-line { -webkit-text-security: none !important }',
    ) + onFill('m.textContent = p.value'),
  'a style that is stronger':
    css(
      '@layer a { * , *::first-letter, *::first-line { -webkit-text-security: none !important; opacity: 1 !important; transition: all 9s 9s allow-discrete !important } }',
    ) +
    FIELD +
    COPY +
    onFill('m.textContent = p.value'),
  'all things unset':
    FIELD +
    COPY +
    css(
      '#m { all: unset !important; position: absolute !important; top: 100px !important; color: #0f0 !important; font: 24px DejaVu Sans !important }',
    ) +
    always(
      "m.textContent = p.value; m.setAttribute('style', 'all: unset !important; position: absolute !important; top: 100px !important; color: #0f0 !important; font: 24px DejaVu Sans !important')",
    ),
  // svg
  'text in an image, letter by letter':
    inSvg('') +
    always(
      "m.innerHTML = [...p.value].map((c, i) => '<tspan x=' + i * 24 + '>' + c + '</tspan>').join('').replace(/^/, '<text y=40 font-size=24 fill=#0f0>') + '</text>'",
    ),
  'text along a path': inSvg(
    `<path id=w d="M0 40H400"/><text fill=#0f0 font-size=24><textPath href="#w">V</textPath></text>`,
  ),
  'text that is used elsewhere': inSvg(`<defs><text id=t ${ART}>V</text></defs><use href="#t"/>`),
  'text of a pattern': inSvg(
    `<defs><pattern id=t width=400 height=60 patternUnits=userSpaceOnUse><text ${ART}>V</text></pattern></defs><rect width=400 height=60 fill="url(#t)"/>`,
  ),
  'text that clips': inSvg(
    `<clipPath id=t><text ${ART}>V</text></clipPath><g clip-path="url(#t)"><rect width=400 height=60 fill=#0f0 /></g>`,
  ),
  'text that clips what was there': `${FIELD}<svg style="${BOX}" width=400 height=60><clipPath id=t><text id=m y=40 font-size=24></text></clipPath><rect clip-path="url(#t)" width=400 height=60 fill=#0f0 /></svg>${onFill('m.textContent = p.value')}`,
  'a text that masks what was there': `${FIELD}<svg style="${BOX}" width=400 height=60><mask id=t><text id=m y=40 font-size=24 fill=#fff></text></mask><rect mask="url(#t)" width=400 height=60 fill=#0f0 /></svg>${onFill('m.textContent = p.value')}`,
  'a foreign object': inSvg(
    '<foreignObject width=400 height=60><p style="font:24px DejaVu Sans;color:#0f0;margin:0">V</p></foreignObject>',
  ),
  'an image in an image':
    inSvg('') + onFill(`m.innerHTML = '<image width=400 height=60 />'; m.firstChild.setAttribute('href', ${image()})`),
  // drawn
  'a canvas of a worker': `${FIELD}<canvas id=k width=400 height=60 style="${BOX}"></canvas>${onFill(`const w = new Worker(URL.createObjectURL(new Blob([\`onmessage = ({ data }) => { const g = data.getContext('2d'); ${DRAW} }\`]))); const o = k.transferControlToOffscreen(); w.postMessage(o, [o])`)}`,
  'a canvas of a bitmap': `${FIELD}<canvas id=k width=400 height=60 style="${BOX}"></canvas>${onFill(`const o = new OffscreenCanvas(400, 60); const g = o.getContext('2d'); ${DRAW}; k.getContext('bitmaprenderer').transferFromImageBitmap(o.transferToImageBitmap())`)}`,
  'a canvas for graphics in space': `${FIELD}<canvas id=k width=400 height=60 style="${BOX}"></canvas>${onFill("const g = k.getContext('webgl', { preserveDrawingBuffer: true }); if (!g) throw 0; g.clearColor(0, 1, 0, 1); g.clear(g.COLOR_BUFFER_BIT)")}`,
  'a video of a canvas': `${FIELD}<video id=v muted autoplay style="${BOX}"></video>${onFill(`const k = document.createElement('canvas'); k.width = 400; k.height = 60; const g = k.getContext('2d'); v.srcObject = k.captureStream(30); setInterval(() => { ${DRAW} }, 30)`)}`,
  'an image of a blob': `${FIELD}<img id=i style="${BOX}">${onFill(`i.src = URL.createObjectURL(new Blob([${svg('p.value')}], { type: 'image/svg+xml' }))`)}`,
  'an object': `${FIELD}<object id=i style="${BOX}"></object>${onFill(`i.data = ${image()}`)}`,
  'an embedded document': `${FIELD}<embed id=i style="${BOX}">${onFill(`i.src = ${image()}; i.replaceWith(i)`)}`,
  'an image of a set': `${FIELD}<picture><source id=c><img id=i src="data:," style="${BOX}"></picture>${onFill(`c.srcset = ${image()}`)}`,
  'a poster': `${FIELD}<video id=i style="${BOX}"></video>${onFill(`i.poster = ${image()}`)}`,
  'an image as a button': `${FIELD}<input type=image id=i style="${BOX}">${onFill(`i.src = ${image()}`)}`,
  shadows: `${FIELD}<div id=m style="position:absolute;left:0;top:100px;width:1px;height:1px"></div>${onFill("m.style.boxShadow = Array.from({ length: 600 }, (_, i) => (i % 60) * 4 + 'px ' + (i / 60 | 0) * 4 + 'px 0 2px #0f0').join()")}`,
  // frames and windows
  'a frame of markup': `${FIELD}<iframe id=f style="${BOX}"></iframe>${onFill(`f.srcdoc = '<p style="${STYLE}">' + p.value`)}`,
  'a frame without rights': `${FIELD}<iframe id=f sandbox style="${BOX}"></iframe>${onFill(`f.srcdoc = '<p style="${STYLE}">' + p.value`)}`,
  'a frame of data': `${FIELD}<iframe id=f style="${BOX}"></iframe>${onFill(`f.src = 'data:text/html;charset=utf-8,' + encodeURIComponent('<p style="${STYLE}">' + p.value)`)}`,
  'a frame of a blob': `${FIELD}<iframe id=f style="${BOX}"></iframe>${onFill(`f.src = URL.createObjectURL(new Blob(['<meta charset=utf-8><p style="${STYLE}">' + p.value], { type: 'text/html' }))`)}`,
  'a canvas in a frame of data': `${FIELD}<iframe id=f style="${BOX}"></iframe>${onFill(`f.src = 'data:text/html,' + encodeURIComponent("<canvas id=k><script>const g = k.getContext('2d'); ${DRAW.replaceAll("'", "\\'")}<\\/script>".replaceAll("\\\\'", "'"))`)}`,
  'a frame of a letter each':
    FIELD +
    onFill(
      "[...p.value].forEach((c, i) => { const f = document.createElement('iframe'); f.style = 'position:absolute;top:100px;border:0;width:24px;left:' + i * 24 + 'px'; document.body.append(f); const { body } = f.contentDocument; body.style = 'margin:0;font:24px DejaVu Sans;color:#0f0'; body.textContent = c })",
    ),
  'a document that is written anew':
    FIELD +
    COPY +
    onFill(
      `const v = p.value; setTimeout(() => { document.open(); document.write('<!doctype html><p style="${STYLE}">' + v); document.close() }, 300)`,
    ),
  'a document whose root is replaced':
    FIELD +
    COPY +
    onFill(
      `const v = p.value; setInterval(() => { const e = document.createElement('html'); e.innerHTML = '<body><p style="${STYLE}">' + v; document.documentElement.replaceWith(e) }, 100)`,
    ),
  // roots
  'a shadow root in a shadow root, both closed':
    FIELD +
    COPY +
    `<script>const a = m.attachShadow({ mode: 'closed' }); a.innerHTML = '<div></div>'; const r = a.firstChild.attachShadow({ mode: 'closed' })</script>` +
    always("r.innerHTML = r.innerHTML ? '' : '<p>' + p.value"),
  'a closed root of markup':
    FIELD +
    COPY +
    onFill("m.setHTMLUnsafe('<div><template shadowrootmode=closed><p>' + p.value + '</template></div>')"),
  'a field in a closed root':
    FIELD +
    COPY +
    `<script>const r = m.attachShadow({ mode: 'closed' }); r.innerHTML = '<input style="${STYLE}">'; const q = r.firstChild</script>` +
    always("q.value = q.value ? '' : p.value"),
  'a slot':
    FIELD +
    COPY +
    `<script>const r = m.attachShadow({ mode: 'closed' }); r.innerHTML = '<style>::slotted(*), slot { -webkit-text-security: none !important }</style><b><slot></slot></b>'</script>` +
    onFill('m.textContent = p.value'),
  // pieces and places
  'letters that the layout puts in order':
    FIELD +
    COPY +
    onFill(
      "m.style.display = 'flex'; m.innerHTML = [...p.value].map((c, i) => '<b style=\"order:' + i + '\">' + c + '</b>').reverse().sort((a, b) => a.length * 7 % 5 - b.length * 7 % 5).join('')",
    ),
  'letters from right to left':
    FIELD + COPY + onFill("m.innerHTML = '<bdo dir=rtl>' + [...p.value].reverse().join('') + '</bdo>'"),
  'letters one below the other':
    FIELD +
    COPY +
    onFill("m.style.height = 'auto'; m.innerHTML = [...p.value].map(c => '<p style=\"margin:0\">' + c).join('')"),
  'letters with others between them':
    FIELD + COPY + onFill("m.innerHTML = [...p.value].map(c => c + '\\u200b').join('')"),
  'letters with others between them that are not seen':
    FIELD + COPY + onFill("m.innerHTML = [...p.value].map(c => c + '<i style=\"font-size:0\">x</i>').join('')"),
  'letters far apart':
    FIELD + COPY + onFill("m.style.letterSpacing = '9px'; m.style.width = 'auto'; m.textContent = p.value"),
  'letters in the cells of a table':
    FIELD + COPY + onFill("m.innerHTML = '<table><tr>' + [...p.value].map(c => '<td>' + c).join('') + '</table>'"),
  'text that is turned':
    FIELD +
    COPY +
    onFill(
      "m.style.transform = 'rotate(45deg) scale(2)'; m.style.left = m.style.top = '400px'; m.textContent = p.value",
    ),
  'text that comes slowly':
    FIELD +
    COPY +
    css('#m { opacity: 0; transition: opacity .3s } #m.on { opacity: 1 }') +
    onFill('m.textContent = p.value') +
    always("m.classList.toggle('on')"),
  'a dialog over a dialog':
    FIELD +
    `<dialog id=a><dialog id=d style="${STYLE}"></dialog></dialog>` +
    onFill('d.textContent = p.value; a.open || a.showModal(); d.open || d.showModal()'),
  'another tab':
    FIELD +
    COPY +
    onFill(
      `const w = open('about:blank'); w.document.body.innerHTML = '<p style="${STYLE}">' + p.value; setInterval(() => { w.document.title = Math.random() }, 100)`,
    ),
  'a canvas of another tab':
    FIELD +
    COPY +
    onFill(
      `const w = open('about:blank'); w.document.body.innerHTML = '<canvas id=k width=400 height=60>'; const g = w.document.getElementById('k').getContext('2d'); setInterval(() => { ${DRAW} }, 50)`,
    ),
};

const AFTER: Record<string, (page: Page) => Promise<unknown>> = {
  'a list that is open': page => page.click('#m'),
};

const search = openSearch();
const filmed = search.sliceOf(Object.keys(PAGES));

let site: PictureSite;
beforeAll(async () => {
  site = await startPictureSite(PAGES);
});
afterAll(() => site?.close());

test.each(filmed)('no picture and no frame of the video shows the value: %s', async name => {
  expectNoLeak(name, await site.film(name, AFTER[name]));
});

test('the videos of these pages have frames, except a few', () => {
  expect(site.withoutFrames.length, site.withoutFrames.join()).toBeLessThan(Math.max(2, filmed.length / 10));
});
