import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

// Pages as people meet them on ordinary sites, each with one thing that trips automation up.

const done = `<script>window.done = what => { document.title = 'Done: ' + what; }</script>`;
const page = (title: string, body: string): string =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title>${done}<h1>${title}</h1>${body}`;

const SWITCH = `<style>.switch input { opacity: 0; width: 0; height: 0; position: absolute } .switch span { display: inline-block; width: 40px; height: 20px; background: #999 }
.switch input:checked + span { background: #080 }</style>`;

const PAGES: Readonly<Record<string, string>> = {
  // A login whose checkbox is drawn by its label, behind a banner that covers the page.
  login: page(
    'Sign in',
    `${SWITCH}<form method=post action=/login><label>Mail <input type=email name=mail required></label><label>Password <input type=password name=password required></label>
<label class=switch><input type=checkbox name=remember value=yes><span></span> Remember me</label><button>Sign in</button></form>
<div id=banner style="position:fixed;inset:0;background:#fffd"><p>We use cookies</p><button onclick="banner.remove()">Accept all</button></div>`,
  ),
  // Suggestions come for keys, some time after the last of them, and are a list without buttons.
  suggest: page(
    'Find a city',
    `<input aria-label=City role=combobox><ul role=listbox id=list></ul><script>
let timer; document.querySelector('input').onkeyup = ({ target }) => { clearTimeout(timer); timer = setTimeout(async () => {
  const found = await (await fetch('/cities?q=' + target.value)).json();
  list.innerHTML = found.map(name => '<li role=option onclick="done(this.textContent)">' + name + '</li>').join('') }, 200) }</script>`,
  ),
  // The missing field is named in a bubble of the browser, outside the page.
  order: page(
    'Order',
    `<form method=post action=/order><label>Size <select name=size required><option value="">Choose</option><option value=s>Small</option><option value=l>Large</option></select></label>
<label>Mail <input type=email name=mail required></label><label>Deliver on <input type=date name=day min=2026-01-01 required></label><button>Order</button></form>`,
  ),
  wizard: page(
    'Insurance',
    `<form onsubmit="event.preventDefault(); done([...new FormData(this).values()].join())"><fieldset><label><input type=radio name=who value=me> Me</label><label><input type=radio name=who value=us> Us</label></fieldset>
<fieldset hidden><label><input type=radio name=term value=1> One year</label><label><input type=radio name=term value=2> Two years</label></fieldset><button type=button id=next>Next</button><button id=send hidden>Buy</button></form>
<script>next.onclick = () => setTimeout(() => { const [one, two] = document.querySelectorAll('fieldset');
  if (!document.querySelector('[name=who]:checked')) return; one.hidden = next.hidden = true; two.hidden = send.hidden = false }, 150)</script>`,
  ),
  tabs: page('Catalogue', '<a href=/shop target=_blank>Open the shop</a>'),
  shop: page('Shop', '<button onclick="done(\'bought\')">Buy</button>'),
  // The page does not scroll: a part of it does, and grows.
  feed: page(
    'Feed',
    `<style>html, body { height: 100%; margin: 0; overflow: hidden } main { height: 80vh; overflow-y: auto } article { height: 300px }</style><main></main>
<script>let n = 0; const main = document.querySelector('main'); const more = () => { for (let i = 0; i < 10 && n < 40; i++) main.insertAdjacentHTML('beforeend', '<article>Post ' + ++n + '</article>') };
more(); main.onscroll = () => { if (main.scrollTop + main.clientHeight > main.scrollHeight - 50) fetch('/later').then(more) }</script>`,
  ),
  upload: page(
    'Apply',
    `<form method=post action=/upload enctype=multipart/form-data><label>CV <input type=file name=cv required></label><button>Apply</button></form>
<label class=button for=other>Attach</label><input id=other type=file hidden onchange="done(this.files[0].name)">`,
  ),
  confirm: page(
    'Item',
    `<input type=file><button onclick="done(confirm('Delete it?') ? 'deleted' : 'kept')">Delete</button>`,
  ),
  leave: page('Draft', `<input aria-label=Text><script>onbeforeunload = event => event.preventDefault()</script>`),
  editor: page(
    'Note',
    `<div contenteditable=true role=textbox aria-label=Note><p>Old text</p></div><button onclick="done(document.querySelector('[contenteditable]').innerText.trim())">Save</button>`,
  ),
  table: page(
    'Orders',
    `<table><tbody id=rows></tbody></table><nav><button id=prev disabled>Previous</button><button id=next>Next</button></nav><script>let at = 1;
const show = async () => { rows.innerHTML = ''; const found = await (await fetch('/rows?page=' + at)).json(); rows.innerHTML = found.map(n => '<tr><td>Order ' + n + '</td></tr>').join('');
  prev.disabled = at === 1; next.disabled = at === 3 }; next.onclick = () => { at++; show() }; prev.onclick = () => { at--; show() }; show()</script>`,
  ),
  menu: page(
    'Company',
    `<style>.sub { display: none } li:hover > .sub { display: block }</style><ul><li><a href="#">Products</a><ul class=sub><li><a href="javascript:done('phones')">Phones</a></li></ul></li></ul>`,
  ),
};

const LATE_MS = 150;
const CITIES = ['Berlin', 'Bern', 'Bergen', 'Bremen'];

export interface FlowSite {
  readonly url: string;
  /** Forms that arrived, in their order. */
  readonly sent: readonly string[];
  close(): void;
}

export async function startFlowSite(): Promise<FlowSite> {
  const sent: string[] = [];
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://site');
    const html = (status: number, body: string, headers = {}) =>
      response.writeHead(status, { 'content-type': 'text/html; charset=utf-8', ...headers }).end(body);
    const late = (answer: unknown) => setTimeout(() => response.end(JSON.stringify(answer)), LATE_MS);
    const name = pathname.slice(1);
    if (request.method === 'POST') {
      sent.push(await text(request));
      html(303, '', { location: `/thanks?for=${name}` });
    } else if (name === 'thanks') html(200, page(`Thank you for ${searchParams.get('for')}`, ''));
    else if (name === 'cities') late(CITIES.filter(city => city.startsWith(searchParams.get('q') ?? '')));
    else if (name === 'rows') late([1, 2, 3].map(n => (Number(searchParams.get('page')) - 1) * 3 + n));
    else if (name === 'later') late(true);
    else if (name === 'broken') html(500, page('Something went wrong', ''));
    else if (name === 'empty') response.writeHead(500).end();
    else if (name === 'report.csv')
      response.writeHead(200, { 'content-type': 'text/csv', 'content-disposition': 'attachment' }).end('a,b\n1,2\n');
    else html(name in PAGES ? 200 : 404, PAGES[name] ?? page('Not found', ''));
  }).listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    url: `http://127.0.0.1:${port}`,
    sent,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
