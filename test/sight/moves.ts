import type { Part, Task } from './task.ts';

/** Does what a goal says. */
export type Solver = (task: Task, ...said: string[]) => Promise<void>;

export const FIELD = /textbox|searchbox|spinbutton/;
export const ANY = /^/;
export const listOf = (text: string): string[] => text.split(/, (?:and )?| and /).map(each => each.trim());
export const nth = (said: string): number => Number(/\d+/.exec(said)?.[0]) - 1;
export const fields = (task: Task): Part[] => task.all(FIELD);
export const cased = (word: string, how: string): string =>
  /upper/.test(how) ? word.toUpperCase() : /lower/.test(how) ? word.toLowerCase() : word;

/** Clicks what is named so, which may be behind tabs, sections or folders. */
export const seek: Solver = async (task, name = '') => {
  const tried = new Set<string>();
  for (let turns = 0; turns < 12; turns += 1) {
    const found = task.all(/^(?!tab$|textbox)/, name).find(part => part.text.trim() !== '' || part.name === name);
    if (found !== undefined) return task.click(found);
    const closed = task
      .all(/tab|listitem|generic|menuitem|link/)
      .find(
        part => !tried.has(part.ref) && /expanded=false|hitarea|^link/.test(`${part.states}${part.name}${part.role}`),
      );
    if (closed === undefined) break;
    tried.add(closed.ref);
    await task.click(closed);
  }
  throw new Error(`${name} is not shown`);
};

export const tick: Solver = async (task, names = '') => {
  for (const name of names === 'nothing' ? [] : listOf(names)) await task.click(task.all(/checkbox|radio/, name)[0]);
  await task.submit();
};

/** The row, card or run of lines of the one who is named. */
export const partsBeside = (task: Task, who: string): Part[] => {
  const lines = task.lines();
  const own = lines.findIndex((line, at) => at > 0 && line.includes(who));
  const indent = lines[own]?.search(/\S/) ?? 0;
  let [from, to] = [own, own];
  while (from > 0 && (lines[from - 1]?.search(/\S/) ?? 0) >= indent && indent > 0) from -= 1;
  while (to + 1 < lines.length && (lines[to + 1]?.search(/\S/) ?? 0) >= indent && indent > 0) to += 1;
  return task.parts().filter(({ line }) => line >= from - 1 && line <= to);
};

export const mail = async (task: Task, who: string): Promise<Part[]> => {
  const box = partsBeside(task, who);
  if (box.length === 0) throw new Error(`no mail of ${who}`);
  return box;
};
export const reply: Solver = async (task, who = '', text = '') => {
  await task.click((await mail(task, who))[0]);
  await task.click(task.all(ANY, 'Reply')[0]);
  await task.type(fields(task)[0], text);
  await task.click(task.all(ANY, /send/i)[0]);
};
export const forward: Solver = async (task, who = '', to = '') => {
  await task.click((await mail(task, who))[0]);
  await task.click(task.all(ANY, 'Forward')[0]);
  await task.type(fields(task)[0], to);
  await task.click(task.all(ANY, /send/i)[0]);
};

export const slide = async (task: Task, index: number, wanted: number): Promise<void> => {
  const valueNow = () => {
    const handle = task.all(ANY, /slider-handle/)[index];
    const lines = task.lines();
    return Number(
      /-?\d+/.exec(
        lines
          .slice((handle?.line ?? 0) + 1)
          .find(line => /text: -?\d+/.test(line))
          ?.replace(/^ *- /, '') ?? '',
      )?.[0],
    );
  };
  await task.click(task.all(ANY, /slider-handle/)[index]);
  const before = valueNow();
  await task.press(wanted < before ? 'ArrowLeft' : 'ArrowRight', Math.abs(wanted - before));
};

export const pickDate: Solver = async (task, month = '', day = '') => {
  await pickDay(task, fields(task)[0], month, day);
  await task.submit();
};

const pickDay = async (task: Task, field: Part | undefined, month: string, day: string): Promise<void> => {
  const NAMES = [
    'January',
    'February',
    'March',
    'April',
    'May',
    'June',
    'July',
    'August',
    'September',
    'October',
    'November',
    'December',
  ];
  await task.click(field);
  for (let turns = 0; turns < 12 && !new RegExp(`${NAMES[Number(month) - 1]}`).test(task.text); turns += 1)
    await task.click(task.all(/link|button|generic/, /^prev/i)[0]);
  await task.click(task.all(/link/, String(Number(day)))[0]);
};

export const complete: Solver = async (task, start = '', end = '') => {
  const field = fields(task)[0];
  await task.act(field, 'browser_type', { text: start, slowly: true });
  const wanted = new RegExp(`^${start}.*${end} *$`);
  await task.click(await task.lookFor(/listitem|option|menuitem|generic/, wanted));
  await task.submit();
};

/** A table's or a form's value beside a label. */
export const cell = (task: Task, label: string): string =>
  new RegExp(`row: ${label} \\| (.*)`).exec(task.text)?.[1]?.trim() ?? '';

export const compute = (sum: string): number => {
  const [, a = '', how = '', b = ''] = /(-?\d+)\s*([-+x*×])\s*(-?\d+)/.exec(sum) ?? [];
  return how === '+' ? Number(a) + Number(b) : how === '-' ? Number(a) - Number(b) : Number(a) * Number(b);
};

export const guess: Solver = async task => {
  let [low, high] = [0, 9];
  for (let turns = 0; turns < 6 && low <= high; turns += 1) {
    const number = Math.floor((low + high) / 2);
    await task.type(fields(task)[0], String(number));
    await task.submit();
    if (/higher than|greater than/.test(task.text)) low = number + 1;
    else if (/lower than|less than/.test(task.text)) high = number - 1;
    else return;
  }
};

const IN_MENU = /menu|share|block|mute|copy|embed|report/i;

/** Clicks what is named so in posts of the one who is named, which may be in a menu of the post. */
export const like: Solver = async (task, what = '', who = '', count = '99') => {
  const posts = task
    .lines()
    .flatMap((line, at) => (line.includes(who) && at > 0 ? [at] : []))
    .slice(0, Number(count));
  const [first = ''] = what.toLowerCase().split(' ');
  for (const at of posts) {
    const below = task.parts().filter(({ line }) => line > at);
    if (IN_MENU.test(what)) {
      await task.click(below.find(({ name }) => /more/.test(name)));
      await task.click(await task.lookFor(ANY, new RegExp(`^${what}\\b`)));
    } else await task.click(below.find(({ name }) => name.toLowerCase().includes(first)));
  }
};

/** Mails are answered, sent on, marked or removed, in whatever words the goal says so. */
export const treatMail: Solver = async task => {
  const { goal } = task;
  const text = /"(.+)"/.exec(goal)?.[1];
  const bare = goal.replace(/".*"/, '');
  const names = [...bare.matchAll(/(?<=\W)[A-Z][a-z]+/g)].map(([name]) => name);
  const to = /\bto ([A-Z][a-z]+)(?!'s)/.exec(bare)?.[1] ?? '';
  const who = /([A-Z][a-z]+)'s/.exec(bare)?.[1] ?? /\b(?:by|from|of) ([A-Z][a-z]+)/.exec(bare)?.[1] ?? names[0] ?? '';
  if (text !== undefined) return reply(task, who, text.replace(/"$/, ''));
  if (/delete|trash|remove|rid/i.test(bare))
    return task.click((await mail(task, who)).find(({ name }) => name === 'trash'));
  if (/star|important/i.test(bare)) return task.click((await mail(task, who)).find(({ name }) => name === 'star'));
  return forward(task, who, to === who ? (names.find(name => name !== who) ?? '') : to);
};

/** Numbers of a list in order: the lowest of those below a place is dropped before it. */
export const sort: Solver = async task => {
  const count = task.all(/listitem/).length;
  for (let place = 0; place < count - 1; place += 1) {
    const items = task.all(/listitem/);
    const [lowest] = items.slice(place).sort((a, b) => Number(a.name) - Number(b.name));
    if (lowest !== items[place]) await task.drag(lowest, items[place], { place: 'before' });
  }
  await task.submit();
};

/** The date is picked, airports are chosen from lists, and the best flight is booked. */
export const bookFlight: Solver = async (task, how = '', from = '', to = '', month = '', day = '') => {
  for (const [n, place] of [from, to].entries()) {
    await task.act(fields(task)[n], 'browser_type', { text: place, slowly: true });
    await task.click(await task.lookFor(/listitem|option|menuitem|generic/, new RegExp(place)));
  }
  await pickDay(task, fields(task)[2], month, day);
  await task.submit(/search/i);
  const lines = task.lines();
  const flights = task.all(/button/, /book flight/i).map(part => {
    const [, hours, minutes] =
      /(\d+)h (\d+)m/.exec(lines.slice(0, part.line).findLast(line => /\d+h \d+m/.test(line)) ?? '') ?? [];
    const price = Number(/\$(\d+)/.exec(part.name)?.[1]);
    return { part, score: /short/.test(how) ? Number(hours) * 60 + Number(minutes) : price };
  });
  await task.click(flights.sort((a, b) => a.score - b.score)[0]?.part);
};
