import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Pages on which an agent has something to do; each tells in its title or text what was done. */
const row = (index: number) => `<tr><td>${1_000 + index}<td>Customer ${index}<td>${['Open', 'Paid'][index % 2]}
<td><button onclick="done('edited ${index}')">Edit</button></tr>`;
const rows = (count: number) => Array.from({ length: count }, (_, index) => row(index)).join('');
const fields = Array.from(
  { length: 20 },
  (_, index) => `<label>Answer ${index + 1} <input name=a${index + 1}></label>`,
);

const PAGES: Readonly<Record<string, string>> = {
  table: `<table><tr><th>Number<th>Customer<th>State<th>Do${rows(400)}</table>`,
  edits: ['Alpha', 'Beta', 'Gamma']
    .map(each => `<section><h2>${each}</h2><button onclick="done('edited ${each}')">Edit</button></section>`)
    .join(''),
  select: `<label>Country <select onchange="done('chose '+this.value)">${Array.from({ length: 60 }, (_, n) => `<option>Country ${n}`).join('')}</select></label>`,
  fields: `<form onsubmit="done([...new FormData(this).values()].join());return false">${fields.join('')}<button>Send</button></form>`,
  price: `<ul>${Array.from({ length: 40 }, (_, n) => `<li>Item ${n}: <b id=p${n}>${10 + n} EUR</b></li>`).join('')}</ul>
<button onclick="p33.textContent='7 EUR'">Refresh</button>`,
  sort: `<ol id=list><li>Pear<li>Fig<li>Apple</ol><button onclick="list.append(...[...list.children].sort((a,b)=>a.textContent<b.textContent?-1:1))">Sort</button>`,
  pages: `<ul id=list></ul><button onclick="show(++at)">Next page</button><script>at=1;show=n=>{list.innerHTML=Array.from({length:5},(_,i)=>'<li>Result '+(n*5-4+i)+'</li>').join('')};show(1)</script>`,
  menu: `<button aria-haspopup=menu onclick="file.hidden=false">File</button><div role=menu id=file hidden>
<div role=menuitem onclick="exp.hidden=false">Export</div></div><div role=menu id=exp hidden><div role=menuitem onclick="done('as PDF')">As PDF</div></div>`,
  frames: `<iframe title=Inner srcdoc="<button onclick='parent.done(&quot;in frame&quot;)'>Inside</button>"></iframe>`,
  shadow: `<x-box></x-box><script>customElements.define('x-box',class extends HTMLElement{connectedCallback(){this.attachShadow({mode:'open'}).innerHTML='<button>Deep</button>';this.shadowRoot.querySelector('button').onclick=()=>done('in shadow')}})</script>`,
  dialog: `<button onclick="done(confirm('Delete it?')?'deleted':'kept')">Delete</button>`,
  modal: `<button onclick="box.showModal()">Open box</button><ul><li>One<li>Two<li>Three<li>Four<li>Five<li>Six</ul><dialog id=box><p>Are you sure?</p><button onclick="box.close();done('closed')">Close box</button></dialog>`,
  tabs: `<a href="/second" target=_blank>Open the second</a>`,
  second: `<h1>Second page</h1><button onclick="done('on the second')">Finish</button>`,
  check: `<label><input type=checkbox onchange="done(this.checked?'agreed':'not')"> I agree</label><label><input type=radio name=r value=s> Small</label>
<label><input type=radio name=r value=l onchange="done('large')"> Large</label>`,
  search: `<label>Search <input oninput="setTimeout(()=>out.textContent='Found '+this.value.length+' letters',150)"></label><p id=out></p>`,
  clickable: `<div style="cursor:pointer" onclick="done('card')">A card that can be clicked</div>`,
  plain: `<div onclick="done('plain')">A text that nobody would think can be clicked</div>`,
  details: `<details><summary>More</summary><button onclick="done('detail')">Hidden one</button></details>`,
  toast: `<button onclick="t=document.body.appendChild(document.createElement('div'));t.setAttribute('role','alert');t.textContent='Code 4711'">Ask</button>
<label>Code <input onchange="done('code '+this.value)"></label>`,
  route: `<a href="#" onclick="history.pushState(null,'','/list');view.innerHTML='<h1>The list</h1><button onclick=done(\\'routed\\')>Take</button>';return false">List</a><div id=view><h1>Home</h1></div>`,
  log: `<pre>[${Array.from({ length: 2_000 }, (_, n) => `{"line": ${n}, "state": "${n === 1_500 ? 'failed at the gate' : 'fine'}"}`).join(',\n')}]</pre>`,
  huge: `<h1>Huge</h1><button onclick="done('big')">Go</button>${Array.from({ length: 11_000 }, (_, n) => `<i>${n}</i>`).join('')}`,
};

export interface TaskSite {
  readonly url: string;
  close(): void;
}

export async function startTaskSite(): Promise<TaskSite> {
  const server = createServer((request, response) => {
    const page = new Map(Object.entries(PAGES)).get((request.url ?? '').slice(1));
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end(`<!doctype html><title>To do</title><p id=done>Nothing done</p>
<script>window.done=what=>{document.title='Done: '+what;document.getElementById('done').textContent='Done: '+what}</script>${page ?? ''}`);
  }).listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    url: `http://127.0.0.1:${port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
