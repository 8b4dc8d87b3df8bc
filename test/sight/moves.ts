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
  await task.click(task.all(FIELD)[0]);
  for (let turns = 0; turns < 12 && !new RegExp(`${NAMES[Number(month) - 1]}`).test(task.text); turns += 1)
    await task.click(task.all(/link|button|generic/, /^prev/i)[0]);
  await task.click(task.all(/link/, String(Number(day)))[0]);
  await task.submit();
};

export const complete: Solver = async (task, start = '', end = '') => {
  const field = fields(task)[0];
  await task.act(field, 'browser_type', { text: start, slowly: true });
  await task.call('browser_wait_for', { time: 0.7 });
  await task.look();
  const isWanted = ({ name }: Part) => name.startsWith(start) && name.endsWith(end);
  await task.click(task.all(/listitem|option|menuitem|generic/).find(isWanted));
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

export const like: Solver = async (task, what = '', who = '', count = '99') => {
  const groups = task
    .lines()
    .flatMap((line, at) => (line.includes(who) && at > 0 ? [at] : []))
    .slice(0, Number(count));
  for (const at of groups) {
    const part = task
      .parts()
      .find(({ line, name }) => line > at && name.toLowerCase().includes(what.toLowerCase().replace(/ .*/, '')));
    if (part === undefined && /menu|share|block|mute|copy|embed/i.test(what)) throw new Error(`${what} is not shown`);
    await task.click(part);
  }
};
