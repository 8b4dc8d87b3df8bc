import { fields, forward, guess, like, listOf, mail, reply, type Solver } from './moves.ts';

/** Goals in small sites: mails, posts, shops, editors. */
export const SITE_SOLVERS: readonly (readonly [RegExp, Solver])[] = [
  [/^Guess the number/, guess],
  [
    /^Generate a (?:number (greater|less) than (\d+)|(odd|even) number)/,
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
    /^Buy the ticket with the (shortest duration|cheapest price)/,
    async (task, how = '') => {
      const lines = task.lines();
      const scored = task.all(/button/, /Book/).map(part => {
        const [, hours, minutes] =
          /(\d+)h (\d+)m/.exec(lines.slice(0, part.line).findLast(line => /\d+h \d+m/.test(line)) ?? '') ?? [];
        return {
          part,
          score: /short/.test(how) ? Number(hours) * 60 + Number(minutes) : Number(/\d+/.exec(part.name)?.[0]),
        };
      });
      await task.click(scored.sort((a, b) => a.score - b.score)[0]?.part);
    },
  ],
  [/^Click the cancel button/, task => task.click(task.all(/button/, 'Cancel')[0])],
  [
    /^Search for (\w+) movies directed by (\w+) from year (\d+)/,
    async (task, genre = '', director = '', year = '') => {
      const lines = task.lines();
      for (const field of fields(task)) {
        const label =
          `${lines[field.line]?.includes('row:') ? lines[field.line] : lines[field.line - 1]} ${field.name}`.toLowerCase();
        await task.type(field, /genre/.test(label) ? genre : /year/.test(label) ? year : director);
      }
      await task.submit();
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
        if (Number(/\$([\d.]+)/.exec(task.text.slice(task.text.indexOf('Price')))?.[1]) < Number(bound)) break;
        await task.look();
      }
      await task.click(task.all(/button/, /buy/i)[0]);
    },
  ],
  [
    /^Using the text editor, give the text (.+), the (?:style|color) (\w+)/,
    async (task, text = '', style = '') => {
      const editor = fields(task).find(({ name, text: said }) => /editor/.test(name) || said.includes(text));
      await task.call('browser_drag', { startTarget: editor?.ref, endTarget: editor?.ref, words: text });
      await task.look();
      await task.click(task.all(/button/, new RegExp(style, 'i'))[0]);
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
      await task.call('browser_drag', { startTarget: 'body', endTarget: 'body', words });
      await task.submit();
    },
  ],
  [
    /^Drag (\w+) (up|down) by (one|two|three|four) positions?/,
    async (task, name = '', way = '', count = '') => {
      const items = task.all(/listitem/);
      const from = items.findIndex(part => part.name === name);
      const to = from + (way === 'up' ? -1 : 1) * (['one', 'two', 'three', 'four'].indexOf(count) + 1);
      await task.call('browser_drag', { startTarget: items[from]?.ref, endTarget: items[to]?.ref });
    },
  ],
];
