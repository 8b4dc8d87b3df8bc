import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Pages on which an agent has something to do; each says in its title or text what was done. */
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
  price: `<ul>${Array.from({ length: 900 }, (_, n) => `<li>Item ${n}: <b id=p${n}>${10 + n} EUR</b></li>`).join('')}</ul>
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
  grid: `<div role=grid aria-label=May><div role=row><div role=gridcell aria-selected=true>4</div><div role=gridcell aria-disabled=true>5</div>
<div role=gridcell onclick="done('chose the 6th')">6</div></div></div><table><tr><td style="cursor:pointer" onclick="done('a cell')">Pick me<td>Not me</table>`,
  drawn: `<style>input{position:absolute;width:1px;height:1px;overflow:hidden;clip:rect(0 0 0 0)}.laid input{width:16px;height:16px;opacity:0;clip:auto;z-index:-1}
.laid label::before{content:'';position:absolute;left:8px;width:16px;height:16px;background:#ccc}.laid label{padding-left:24px}</style>
<label><input type=radio name=r onchange="done('standard')"><span>Standard</span></label><label><input type=radio name=r onchange="done('express')"><span>Express</span></label>
<p class=laid><input id=terms type=checkbox onchange="done('terms '+this.checked)"><label for=terms>I agree to <a href=/second>the terms and conditions of this shop</a></label></p>
<label><input type=checkbox onchange="done('letter '+this.checked)">Send me <a href=/second>the letter of this shop each week</a></label>`,
  'drawn-in-a-frame': '<iframe src=/drawn width=600 height=300></iframe>',
  chooser: `<input type=file hidden id=file><button onclick="file.click()">Choose a file</button><button onclick="done('another')">Another</button>`,
  popup: `<button id=go>Open a window</button><script>go.onclick=()=>{window.open('/second','','width=300')}</script>`,
  dead: '<a href="http://127.0.0.1:1/">Dead</a>',
  saves: `<form method=post action=/nothing><button>Save</button></form><button onclick="done('after saving')">After</button>`,
  invoices: '<a href=/invoice target=_blank>Invoice</a>',
  prefilled: `<label>Name <input value=Ann oninput="done('is '+this.value)"></label>`,
  huge: `<h1>Huge</h1><button onclick="done('big')">Go</button>${Array.from({ length: 11_000 }, (_, n) => `<i>${n}</i>`).join('')}`,
};

/** Addresses that are no page. */
const ANSWERS: Readonly<Record<string, (response: ServerResponse) => void>> = {
  nothing: response => response.writeHead(204).end(),
  // Its tab is closed while it still comes.
  invoice: response => {
    response.writeHead(200, { 'content-disposition': 'attachment; filename=invoice.txt' }).write('7 ');
    setTimeout(() => response.end('EUR'), 300);
  },
  picture: response =>
    response
      .writeHead(200, { 'content-type': 'image/svg+xml' })
      .end('<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"/>'),
};

export interface TaskSite {
  readonly url: string;
  close(): void;
}

export async function startTaskSite(): Promise<TaskSite> {
  const server = createServer((request, response): unknown => {
    const name = (request.url ?? '').slice(1);
    const answer = new Map(Object.entries(ANSWERS)).get(name);
    if (answer !== undefined) return answer(response);
    const page = new Map(Object.entries(PAGES)).get(name);
    response.setHeader('content-type', 'text/html; charset=utf-8');
    return response.end(`<!doctype html><title>To do</title><p id=done>Nothing done</p>
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
