/** Pages of three sizes on which an agent's answers are counted; each has the elements that `tenActions` acts on. */
export const PAGES = { small: small(), table: table(), form: form() } as const;
export type PageName = keyof typeof PAGES;

function small(): string {
  return `<title>Small</title>
<header><nav><a href="/">Home</a> <a href="/about">About</a> <a href="/docs">Docs</a></nav></header>
<main><h1>Welcome</h1><p>A short text about the product and what it does for you.</p>
<button id=act onclick="document.getElementById('said').textContent='Clicked '+(++n)">Try it</button><p id=said>Nothing yet</p>
<form><label>Name <input id=first></label><label>Mail <input id=second type=email></label>
<label>Plan <select id=choice><option>Free<option>Team<option>Big</select></label><button type=button>Send</button></form></main>
<footer><p>2026 Example</p><a href="/imprint">Imprint</a></footer><script>n=0</script>`;
}

/** 500 rows with 1,504 controls. */
function table(): string {
  const rows = Array.from({ length: 500 }, (_, index) => {
    const date = `2026-11-${String(1 + (index % 28)).padStart(2, '0')}`;
    const state = ['Open', 'Paid', 'Sent'][index % 3];
    return `<tr><td><a href="/o/${10_000 + index}">#${10_000 + index}</a><td><div><div>Customer ${index} GmbH</div></div><td>${date}
<td>${((index * 17.35) % 900).toFixed(2)} EUR<td><div><span>${state}</span></div><td><button>Edit</button><button>Delete</button></tr>`;
  });
  return `<title>Orders</title><div><div><div><div><h1>Orders</h1></div><div><label>Search <input id=first></label>
<label>Note <input id=second></label><select id=choice aria-label=Status><option>All<option>Open<option>Paid</select>
<button id=act onclick="document.getElementById('said').textContent='Refreshed '+(++n)">Refresh</button><span id=said>-</span></div></div></div>
<table><thead><tr><th>Order<th>Customer<th>Date<th>Total<th>Status<th>Action</thead><tbody>${rows.join('')}</tbody></table></div><script>n=0</script>`;
}

/** 109 controls in 12 sections. */
function form(): string {
  const countries = [
    'Austria',
    'Belgium',
    'France',
    'Germany',
    'Italy',
    'Spain',
    'Sweden',
    'Norway',
    'Poland',
    'Portugal',
  ];
  const field = (section: number, number: number) => {
    const id = section === 0 && number < 2 ? ['first', 'second'][number] : `f${section}_${number}`;
    return `<div><div><label for=${id}>Field ${section + 1}.${number + 1} of the form</label></div><div><input id=${id} ${number === 0 ? 'required' : ''}>
<div>Write what stands in your document, line ${number + 1}.</div></div></div>`;
  };
  const sections = Array.from({ length: 12 }, (_, section) => {
    const fields = Array.from({ length: 5 }, (_each, number) => field(section, number));
    const id = section === 0 ? 'choice' : `c${section}`;
    const radios = ['Yes', 'No', 'Unsure'].map(each => `<label><input type=radio name=r${section}>${each}</label>`);
    return `<fieldset><legend>Section ${section + 1}</legend>${fields.join('')}
<label>Country <select id=${id}>${countries.map(each => `<option>${each}`).join('')}</select></label>
<div role=radiogroup aria-label="Choice ${section + 1}">${radios.join('')}</div></fieldset>`;
  });
  return `<title>Application</title><h1>Application</h1><form>${sections.join('')}
<button type=button id=act onclick="document.getElementById('said').textContent='Checked '+(++n)">Check</button><p id=said>-</p></form><script>n=0</script>`;
}
