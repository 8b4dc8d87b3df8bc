import { afterAll, beforeAll, expect, test } from 'vitest';
import { isWithheld } from '../../../runner/secrecy/pictures.ts';
import { openSearch } from '../../search.ts';
import { expectNoLeak } from './expect-no-leak.ts';
import {
  always,
  at,
  COPY,
  FIELD,
  fill,
  GREEN_MIN,
  greenIn,
  leaks,
  onFill,
  type PictureSite,
  SECRET,
  STYLE,
  shoot,
  startPictureSite,
} from './picture-site.ts';

const TOGGLE = "p.type = p.type === 'password' ? 'text' : 'password';";

/** Uses that a page may make of the value once it is filled in; each is a document of its own. */
const PAGES: Record<string, string> = {
  'a field that stays one for passwords': FIELD,
  'a field that is shown and hidden again': FIELD + always(TOGGLE),
  'a field that moves':
    FIELD +
    always(TOGGLE) +
    `<script>let n = 0; (function f() { n++; p.style.transform = 'translate(' + (Math.sin(n/9)*400+420) + 'px,' + (Math.cos(n/13)*300+320) + 'px)'; requestAnimationFrame(f) })()</script>`,
  'a page that takes the mark off in each frame':
    FIELD +
    `<script>const css = p.style.cssText; (function f() { p.type = 'text'; p.style.cssText = css + ';-webkit-text-security:none!important;transition:all 9s allow-discrete'; requestAnimationFrame(f) })()</script>`,
  'a field that is replaced':
    FIELD +
    always(
      `const q = document.createElement('input'); q.type = p.type === 'text' ? 'password' : 'text'; q.id = 'p'; q.style.cssText = '${at(0)}'; q.value = p.value; p.replaceWith(q)`,
    ),
  'another field that renders it': `${FIELD}<input id=q style="${at(100)}">${always("q.value = q.value ? '' : p.value")}`,
  'another field, set right before the paint': `${FIELD}<input id=q style="${at(100)}"><script>let n = 0; (function f() { q.value = n++ % 3 ? p.value : ''; requestAnimationFrame(f) })(); new ResizeObserver(() => { q.value = p.value }).observe(q)</script>`,
  'text that copies it': FIELD + COPY + always("m.textContent = m.textContent ? '' : p.value"),
  'text in pieces': FIELD + COPY + onFill("m.innerHTML = [...p.value].map(c => '<b>' + c + '</b>').join('')"),
  'text in pieces that only their places put in order':
    FIELD +
    COPY +
    onFill(
      "m.innerHTML = [...p.value].map((c, i) => [i % 2, '<b style=\"position:absolute;left:' + i * 22 + 'px\">' + c + '</b>']).sort((a, b) => a[0] - b[0]).map(x => x[1]).join('')",
    ),
  'more than half of it': FIELD + COPY + onFill('m.textContent = p.value.slice(0, 7)'),
  'editable text': `${FIELD}<div contenteditable id=m style="${at(100)}"></div>${always('m.innerText = p.value')}`,
  'a text area': `${FIELD}<textarea id=m style="${at(100)}"></textarea>${always('m.value = p.value')}`,
  'a list': `${FIELD}<select style="${at(100)}"><option id=m></select>${always('m.textContent = p.value')}`,
  'a placeholder': `${FIELD}<style>::placeholder { color: #0f0 }</style><input id=m style="${at(100)}">${always('m.placeholder = p.value')}`,
  'a pseudo-element that shows an attribute': `${FIELD}<style>#m::after { content: attr(data-v); -webkit-text-security: none !important }</style>${COPY}${always('m.dataset.v = p.value')}`,
  'a pseudo-element of a rule': `${FIELD}<style id=s></style>${COPY}${onFill("s.sheet.insertRule('#m::after { content: \"' + p.value + '\" }')")}`,
  'an open shadow root':
    FIELD + COPY + onFill("(m.shadowRoot || m.attachShadow({ mode: 'open' })).innerHTML = '<p>' + p.value"),
  'a closed shadow root':
    FIELD +
    COPY +
    `<script>const r = m.attachShadow({ mode: 'closed' })</script>` +
    always("r.innerHTML = r.innerHTML ? '' : '<p>' + p.value"),
  'a closed shadow root that comes with it':
    FIELD + COPY + onFill("m.attachShadow({ mode: 'closed' }).innerHTML = '<p>' + p.value"),
  'a canvas': `${FIELD}<canvas id=k width=400 height=100 style="position:absolute;left:0;top:100px"></canvas>${always("const g = k.getContext('2d'); g.fillStyle = '#0f0'; g.font = '24px DejaVu Sans'; g.clearRect(0, 0, 400, 100); if (Date.now() % 2) g.fillText(p.value, 0, 40)")}`,
  'a canvas that comes with it': `${FIELD}${onFill("const k = document.createElement('canvas'); document.body.append(k); k.style.cssText = 'position:absolute;left:0;top:100px'; const g = k.getContext('2d'); g.fillStyle = '#0f0'; g.font = '24px DejaVu Sans'; g.fillText(p.value, 0, 40)")}`,
  'an image': `${FIELD}<img id=i style="position:absolute;left:0;top:100px">${onFill('i.src = \'data:image/svg+xml,\' + encodeURIComponent(\'<svg xmlns="http://www.w3.org/2000/svg" width="400" height="60"><text y="40" font-size="24" fill="#0f0">\' + p.value + \'</text></svg>\')')}`,
  'a background': `${FIELD}<div id=i style="position:absolute;left:0;top:100px;width:400px;height:60px"></div>${onFill('i.style.backgroundImage = \'url("data:image/svg+xml,\' + encodeURIComponent(\'<svg xmlns="http://www.w3.org/2000/svg" width="400" height="60"><text y="40" font-size="24" fill="#0f0">\' + p.value + \'</text></svg>\') + \'")\'')}`,
  'text of an inline image': `${FIELD}<svg style="position:absolute;left:0;top:100px" width=400 height=60><text id=m y=40 font-size=24 fill=#0f0></text></svg>${always('m.textContent = p.value')}`,
  'shapes of an inline image': `${FIELD}<svg id=m style="position:absolute;left:0;top:100px" width=400 height=60></svg>${onFill("m.innerHTML = [...p.value].map((c, i) => '<rect fill=\"#0f0\" width=18 height=40 x=' + i * 20 + '>').join('')")}`,
  'many small boxes':
    FIELD +
    COPY +
    onFill('m.innerHTML = \'<i style="display:inline-block;width:4px;height:4px;background:#0f0"></i>\'.repeat(600)'),
  'a frame': `${FIELD}<iframe id=f srcdoc="<p id=m>" style="position:absolute;left:0;top:100px;border:0"></iframe>${always(`const m = f.contentDocument.getElementById('m'); if (m) { m.style.cssText = '${STYLE}'; m.textContent = m.textContent ? '' : p.value }`)}`,
  'a dialog on top of all': `${FIELD}<dialog id=d style="${STYLE}"></dialog>${onFill('d.textContent = p.value; d.open || d.showModal()')}`,
  'a view transition':
    FIELD + COPY + always("document.startViewTransition(() => { m.textContent = m.textContent ? '' : p.value })"),
};

/** Served beside these, for tests of their own. */
const MORE: Record<string, string> = {
  'a login page': `${FIELD}<img style="position:absolute;left:0;top:100px" src='data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg" width="100" height="40"><rect width="100" height="40" fill="%230f0"/></svg>'><h1 style="${at(200)}">▐▐▐▐▐▐▐▐▐▐▐▐</h1>`,
  'a frame of another site': `${FIELD}<iframe id=f style="position:absolute;left:0;top:100px"></iframe><script>f.src = location.href.replace('127.0.0.1', 'localhost').replace(/[^/]*$/, 'listening'); p.addEventListener('input', () => f.contentWindow.postMessage(p.value, '*'))</script>`,
  'a tall page': `${FIELD}<div id=m style="${at(2_600)}"></div><div style="height:3000px"></div>${onFill('m.textContent = p.value')}`,
  'a message of the browser': `<form>${FIELD}<input id=m style="${at(100)}" title=x></form>${onFill('m.setCustomValidity(p.value); m.reportValidity()')}`,
  listening: `<p id=m style="${at(0)}"></p><script>onmessage = ({ data }) => { m.textContent = data }</script>`,
};

/** Contents that a page shows only while the picture is taken: before and after there is nothing to see. */
const BRIEFLY: Record<string, string> = {
  'in a closed root that was empty':
    "const r = m.attachShadow({ mode: 'closed' }); show = on => { r.innerHTML = on ? '<p>' + p.value : '' }",
  'in an empty closed root of a closed root':
    "const a = m.attachShadow({ mode: 'closed' }); a.innerHTML = '<b></b>'.repeat(300); const r = a.firstChild.appendChild(document.createElement('div')).attachShadow({ mode: 'closed' }); show = on => { r.innerHTML = on ? '<p>' + p.value : '' }",
  'in a closed root below 500 others':
    "let e = m; for (let n = 0; n < 500; n++) e = e.appendChild(document.createElement('div')); const r = e.attachShadow({ mode: 'closed' }); show = on => { r.innerHTML = on ? '<p>' + p.value : '' }",
  'in a closed root of an element that then goes':
    "const e = m; let r; show = on => { r ??= e.attachShadow({ mode: 'closed' }); r.innerHTML = '<p>' + p.value; on || e.remove() }",
  'in a closed root of an element that comes and goes, by a name of Playwright’s':
    "show = on => { const e = document.body.appendChild(document.createElement('x-pw-glass')); e.style.cssText = m.style.cssText; e.attachShadow({ mode: 'closed' }).innerHTML = '<p>' + p.value; on || document.querySelectorAll('x-pw-glass').forEach(each => each.remove()) }",
  'in a closed root that then is empty':
    "let r; show = on => { r ??= m.attachShadow({ mode: 'closed' }); r.innerHTML = on ? '<p>' + p.value : '' }",
  'in an open root that then is empty':
    "show = on => { const r = m.shadowRoot ?? m.attachShadow({ mode: 'open' }); r.innerHTML = on ? '<p>' + p.value : '' }",
  'in an open root of an element that then goes':
    "const e = m; show = on => { const r = e.shadowRoot ?? e.attachShadow({ mode: 'open' }); r.innerHTML = '<p>' + p.value; on || e.remove() }",
};

const search = openSearch();
const filmed = search.sliceOf(Object.keys(PAGES));

let site: PictureSite;
beforeAll(async () => {
  const briefly = Object.entries(BRIEFLY).map(([name, script]) => [
    name,
    `${FIELD}${COPY}<script>let show; ${script}</script>`,
  ]);
  site = await startPictureSite({ ...PAGES, ...MORE, ...Object.fromEntries(briefly) });
});
afterAll(() => site?.close());

test.each(filmed)('no picture and no frame of the video shows the value: %s', async name => {
  expectNoLeak(name, await site.film(name));
});

test('the videos of these pages have frames, except a few', () => {
  expect(site.withoutFrames.length, site.withoutFrames.join()).toBeLessThan(Math.max(2, filmed.length / 10));
});

test('a picture of the whole page, of an element, as JPEG or PNG does not show it either', async () => {
  const { context, page, pictures } = await site.tab();
  await page.goto(site.url('a tall page'));
  await fill(page, pictures);
  const shots: Buffer[] = [];
  for (const take of [
    () => page.screenshot({ fullPage: true, scale: 'css', caret: 'initial' }),
    () => page.screenshot({ fullPage: true, scale: 'css', caret: 'initial', type: 'jpeg' }),
    () => page.locator('body').screenshot({ scale: 'css', caret: 'initial' }),
    () => page.locator('#m').screenshot({ scale: 'css', caret: 'initial', type: 'jpeg' }),
  ] as const) {
    const picture = await pictures.take(page, take);
    if (!isWithheld(picture)) shots.push(picture);
  }
  expect(shots.length).toBe(4);
  expect(leaks(shots.flatMap(shot => greenIn([shot])))).toBe(0);
  await context.close();
});

test('a message of the browser about a field does not show the secret either', async () => {
  const isDark = (r: number, g: number, b: number) => r + g + b < 300;
  const { inShots, inVideo } = await site.film('a message of the browser', undefined, isDark);
  // The fields' borders have 70, the message 600.
  expect(Math.max(...inShots, ...inVideo)).toBeLessThan(200);
  expect(inShots.length).toBeGreaterThan(0);
});

test('a login page is still to be seen: its text and images, with discs in the fields', async () => {
  const { context, page, pictures } = await site.tab();
  await page.goto(site.url('a login page'));
  await fill(page, pictures);
  const picture = await pictures.take(page, shoot(page));
  if (isWithheld(picture)) throw new Error(picture.withheld);
  const [green = 0] = greenIn([picture]);
  // The logo is an image, the title is text: both are green, and the field is not.
  expect(green).toBeGreaterThan(1_000 + GREEN_MIN);
  expect(green).toBeLessThan(2_600);
  await context.close();
});

test('after the login a page of any site that prints the value, from its address or otherwise, shows discs', async () => {
  for (const host of ['127.0.0.1', 'localhost']) {
    const { context, page, pictures } = await site.tab();
    await page.goto(site.url('a field that stays one for passwords'));
    await fill(page, pictures);
    await page.goto(`${site.url('printed', host)}?p=${encodeURIComponent(SECRET)}`);
    const picture = await pictures.take(page, shoot(page));
    if (isWithheld(picture)) throw new Error(picture.withheld);
    expect(leaks(greenIn([picture]))).toBe(0);
    // And back, where the browser may put it into the field again.
    await page.goBack();
    const back = await pictures.take(page, shoot(page));
    expect(isWithheld(back) ? 0 : leaks(greenIn([back]))).toBe(0);
    await context.close();
  }
});

test('a document that comes and goes while the picture is taken is not in it', async () => {
  const { context, page, pictures } = await site.tab();
  await page.goto(site.url('a field that stays one for passwords'));
  await fill(page, pictures);
  for (const next of ['printed', 'a field that stays one for passwords']) {
    const picture = await pictures.take(page, async () => {
      await page.goto(`${site.url('printed')}?p=${encodeURIComponent(SECRET)}`);
      const taken = await shoot(page)();
      await page.goto(site.url(next));
      return taken;
    });
    expect(picture).toEqual({ withheld: expect.stringContaining('changes') });
  }
  await context.close();
});

test.each(search.sliceOf(Object.keys(BRIEFLY)))(
  'a secret that is shown only while the picture is taken is not in it: %s',
  async name => {
    const { context, page, pictures } = await site.tab();
    await page.goto(site.url(name));
    await fill(page, pictures);
    const shown: Buffer[] = [];
    const picture = await pictures.take(page, async () => {
      await page.evaluate('show(true)');
      const taken = await shoot(page)();
      shown.push(taken);
      await page.evaluate('show(false)');
      return taken;
    });
    expect(shown.length).toBeGreaterThan(0);
    if (!isWithheld(picture)) expect(leaks(greenIn([picture]))).toBe(0);
    await context.close();
  },
);

test('a frame of another site that was given the value shows discs', async () => {
  const { context, page, pictures } = await site.tab();
  await page.goto(site.url('a frame of another site'));
  await page.frames()[1]?.waitForLoadState();
  await fill(page, pictures);
  const taken: number[] = [];
  for (let n = 0; n < 5; n += 1) {
    const picture = await pictures.take(page, shoot(page));
    if (!isWithheld(picture)) taken.push(...greenIn([picture]));
  }
  expect(leaks(taken)).toBe(0);
  expect(taken.length).toBeGreaterThan(0);
  await context.close();
});

test('there is no picture if secrets cannot be found, and the error says why', async () => {
  const { context, page, pictures } = await site.tab();
  await page.goto(site.url('many small boxes'));
  await fill(page, pictures);
  expect(await pictures.take(page, shoot(page))).toEqual({ withheld: expect.stringContaining('cannot be searched') });
  // Another document is free again.
  await page.goto(site.url('printed'));
  expect(isWithheld(await pictures.take(page, shoot(page)))).toBe(false);
  await context.close();
});

test('a lease in which nothing was filled in pays nothing: no session with the browser, no script in the page', async () => {
  const { context, page, pictures } = await site.tab();
  const { recording } = await site.record(context, pictures); // has one of its own
  let sessions = 0;
  const newSession = context.newCDPSession.bind(context);
  context.newCDPSession = of => {
    sessions += 1;
    return newSession(of);
  };
  await page.goto(site.url('text that copies it'));
  expect(pictures.isGuarding()).toBe(false);
  expect(await pictures.take(page, async () => 'the picture itself')).toBe('the picture itself');
  await recording.stop();
  expect(sessions).toBe(0);
  await fill(page, pictures);
  expect(sessions).toBe(1);
  await context.close();
});
