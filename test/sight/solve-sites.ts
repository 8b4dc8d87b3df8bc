import {
  bookFlight,
  FIELD,
  fields,
  forward,
  guess,
  like,
  listOf,
  mail,
  reply,
  type Solver,
  sort,
  treatMail,
} from './moves.ts';

/** Goals in small sites: mails, posts, shops, editors. */
export const SITE_SOLVERS: readonly (readonly [RegExp, Solver])[] = [
  [/^Guess the number/, guess],
  [
    /^Generate an? (?:number (greater|less) than (\d+)|(odd|even) number)/,
    async (task, how, bound, kind) => {
      for (let turns = 0; turns < 20; turns += 1) {
        await task.click(task.all(/button/, 'Generate')[0]);
        const number = Number(/text: (\d+)$/m.exec(task.text)?.[1]);
        const isFine = kind
          ? (number % 2 === 1) === (kind === 'odd')
          : how === 'greater'
            ? number > Number(bound)
            : number < Number(bound);
        if (isFine) break;
      }
      await task.submit();
    },
  ],
  [
    /^Mark the numbers below as odd or even/,
    async task => {
      const numbers = task
        .lines()
        .flatMap(line => /text: (-?\d+)$/.exec(line)?.[1] ?? [])
        .map(Number);
      for (const [n, number] of numbers.entries())
        await task.click(task.all(/button/, Math.abs(number) % 2 === 1 ? 'Odd' : 'Even')[n]);
      await task.submit();
    },
  ],
  [
    /^Buy the ticket with the (.+)\./,
    async (task, how = '') => {
      const lines = task.lines();
      const scored = task.all(/button/, /Book/).map(part => {
        const [, hours, minutes] =
          /(\d+)h (\d+)m/.exec(lines.slice(0, part.line).findLast(line => /\d+h \d+m/.test(line)) ?? '') ?? [];
        return {
          part,
          score: /duration/.test(how) ? Number(hours) * 60 + Number(minutes) : Number(/\d+/.exec(part.name)?.[0]),
        };
      });
      scored.sort((a, b) => a.score - b.score);
      await task.click(scored.at(/longest|expensive/.test(how) ? -1 : 0)?.part);
    },
  ],
  [/^Click the cancel button/, task => task.click(task.all(/button/, 'Cancel')[0])],
  [
    /^Search for (\w+) movies directed by (\w+) from year (\d+)/,
    async (task, genre = '', director = '', year = '') => {
      const lines = task.lines();
      const isLabelled = (at: number) => /text: (?!Search for)/.test(lines[at] ?? '');
      const side = isLabelled((fields(task)[0]?.line ?? 0) - 1) ? -1 : 1;
      for (const field of fields(task)) {
        const own = lines[field.line]?.includes('row:') === true;
        const label = `${lines[field.line + (own ? 0 : side)]} ${field.name}`.toLowerCase();
        await task.type(field, /genre/.test(label) ? genre : /year|date/.test(label) ? year : director);
      }
      await task.submit(/^(?:Search|Submit|Go)/i);
    },
  ],
  [
    /^Use the textbox to enter "(.+)" and press "Search", then find and click the (\d+)\w+ search result/,
    async (task, text = '', which = '') => {
      await task.type(fields(task)[0], text);
      await task.submit();
      for (let page = 0; page < Math.floor((Number(which) - 1) / 3); page += 1)
        await task.click(task.all(/link/, '>')[0]);
      const results = task.all(/link/).filter(({ name }) => !/^(?:\d+|[<>])$/.test(name));
      await task.click(results[(Number(which) - 1) % 3]);
    },
  ],
  [
    /^Find (\w+) in the contact book and click on their (.+)\./,
    async (task, who = '', what = '') => {
      for (let page = 0; page < 12 && !task.text.includes(`heading "${who}"`); page += 1)
        await task.click(task.all(/link/, '>')[0]);
      const lines = task.lines();
      const label = lines.findIndex(line => new RegExp(`text: ${what.replace(' number', '')}`, 'i').test(line));
      await task.click(task.parts().find(({ line }) => line > label));
    },
  ],
  [
    /^Order one of each item: (.+)/,
    async (task, items = '') => {
      for (const item of listOf(items)) {
        const at = task.lines().findIndex(line => line.endsWith(`text: ${item}`));
        await task.click(task.parts().find(({ line, name }) => line > at && name === '+'));
      }
      await task.submit(/order|submit/i);
    },
  ],
  [
    /^Order (\d+) items that are (\S+)/,
    async (task, count, kind = '') => {
      const lines = task.lines();
      const fitting = lines.flatMap((line, at) => (new RegExp(`img "${kind}"`).test(line) ? [at] : []));
      for (const at of fitting.slice(0, Number(count)))
        await task.click(task.parts().find(({ line, name }) => line > at && name === '+'));
      await task.submit(/order/i);
    },
  ],
  [
    /^Click on the grid coordinate \((-?\d+),(-?\d+)\)/,
    (task, x, y) => task.click(task.all(/generic/, /point|circle/)[(2 - Number(y)) * 5 + Number(x) + 2]),
  ],
  [
    /by (\w+) and click the (trash|star) icon/,
    async (task, who = '', what = '') => task.click((await mail(task, who)).find(({ name }) => name.includes(what))),
  ],
  [
    /^Delete the email (\w+) sent/,
    async (task, who = '') => task.click((await mail(task, who)).find(({ name }) => name === 'trash')),
  ],
  [/by (\w+) and reply to them with the text "(.+)"\./, reply],
  [/by (\w+) and forward that email to (\w+)/, forward],
  [/^Find the email by (\w+) and send it on to (\w+)/, forward],
  [/^Send to (\w+) the email you got from (\w+)/, (task, to = '', who = '') => forward(task, who, to)],
  [/^(?!For the user|Click).*\b(?:e-?mail|message|mail|forward|send|repl|respon)/i, treatMail],
  [/^For the user (@\w+), click on the "(.+)" button/, (task, who = '', what = '') => like(task, what, who, '1')],
  [
    /^Click the "(.+)" button on all posts by (@\w+)/,
    async (task, what = '', who = '') => {
      await like(task, what, who);
      await task.submit();
    },
  ],
  [
    /^Click the "(.+)" button on (\d+) posts? by (@\w+)/,
    async (task, what = '', count = '', who = '') => {
      await like(task, what, who, count);
      await task.submit();
    },
  ],
  [
    /^Check the (\d+)\w+ radio button and enter the number "(.+)" into the (\d+)\w+ textbox/,
    async (task, radio, number = '', box = '') => {
      await task.click(task.all(/radio/)[Number(radio) - 1]);
      await task.type(fields(task)[Number(box) - 1], number);
      await task.submit();
    },
  ],
  [
    /^Choose (.+) from the dropdown, then click the button labeled "(.+)"/,
    async (task, choice = '', name = '') => {
      await task.click(task.all(/generic/, '▾')[0]);
      await task.click(task.all(/generic|listitem|option/, choice)[0]);
      await task.click(task.all(/button/, name)[0]);
    },
  ],
  [
    /^Buy (\w+) stock when the price is less than \$([\d.]+)/,
    async (task, _name, bound) => {
      for (let turns = 0; turns < 60; turns += 1) {
        if (Number(/Stock price: \$([\d.]+)/.exec(task.text)?.[1]) < Number(bound)) break;
        await task.look();
      }
      await task.click(task.all(/button/, /buy/i)[0]);
    },
  ],
  [
    /^Using the text editor, (?:give|make) (?:(everything)|the text (.+?)) the (style|color) (\w+)/,
    async (task, _all, some = '', kind = '', style = '') => {
      const editor = task.all(FIELD, /editor/)[0];
      await task.drag(editor, editor, { words: some || editor?.text });
      if (kind === 'color') {
        await task.click(task.all(/generic|button/, /picker-label/)[0]);
        await task.click(await task.lookFor(/generic|button/, new RegExp(style)));
      } else await task.click(task.all(/button/, new RegExp(style, 'i'))[0]);
      await task.submit();
    },
  ],
  [
    /^Highlight the text in the (?:paragraph below|(\d+)\w+ paragraph)/,
    async (task, which = '1') => {
      const paragraphs = task
        .lines()
        .flatMap(line => /^ *- (?:paragraph|text): (.{20,})$/.exec(line)?.[1] ?? [])
        .slice(1);
      const words = paragraphs[Number(which || 1) - 1] ?? '';
      const near = task.all(/button/)[0];
      await task.drag(near, near, { words });
      await task.submit();
    },
  ],
  [
    /^Drag (\w+) (up|down) by (one|two|three|four) positions?/,
    async (task, name = '', way = '', count = '') => {
      const items = task.all(/listitem/);
      const from = items.findIndex(part => part.name === name);
      const to = from + (way === 'up' ? -1 : 1) * (['one', 'two', 'three', 'four'].indexOf(count) + 1);
      await task.drag(items[from], items[to], { place: way === 'up' ? 'before' : 'after' });
    },
  ],
  [
    /^Drag (\w+) (?:to the (?:(top|center|bottom) ?)?(left|center|right)?|(up|down|left|right) by one)\.$/,
    async (task, name = '', row = '', column = '', way = '') => {
      const items = task.all(/listitem/);
      const from = items.findIndex(part => part.name === name);
      const STEPS: Record<string, number> = { up: -3, down: 3, left: -1, right: 1 };
      const across = ['left', 'center', 'right'].indexOf(column || 'center');
      const to = way === '' ? ['top', 'center', 'bottom'].indexOf(row) * 3 + across : from + (STEPS[way] ?? 0);
      await task.drag(items[from], items[to]);
    },
  ],
  [/^Sort the numbers in increasing order/, sort],
  [
    /^Drag the smaller box/,
    async task => {
      await task.drag(task.all(/generic/, 's')[0], task.all(/generic/, 'L')[0]);
      await task.submit();
    },
  ],
  [
    /^Drag all (\w+?)s?(?: shapes)? into the (black|left) box(, and everything else)?/,
    async (task, what = '', _box = '', others = '') => {
      const shapes = task.all(/generic/);
      const boxes = shapes.splice(others === '' ? -1 : -2);
      for (const shape of shapes) {
        const isWanted = shape.name.split('-').includes(what);
        if (isWanted || others !== '') await task.drag(shape, boxes[isWanted ? 0 : 1]);
      }
      await task.submit();
    },
  ],
  [
    /^Resize the textarea so that the (height|width) is (larger|smaller)/,
    async (task, side, way) => {
      const handle = task.all(/generic/, side === 'height' ? /^s-resize/ : /^e-resize/)[0];
      const field = fields(task)[0];
      const button = task.all(/button/)[0];
      await task.drag(handle, way === 'smaller' ? field : button, { place: 'after' });
      // The field may cover the button now.
      await task.click(field);
      await task.press('Tab');
      await task.press('Enter');
    },
  ],
  [/^Book the (\w+) one-way flight from: (.+) to: (.+) on (\d+)\/(\d+)/, bookFlight],
];
