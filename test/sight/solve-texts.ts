import { cased, cell, complete, compute, fields, nth, type Solver } from './moves.ts';

/** Goals that want a text read or written. */
export const TEXT_SOLVERS: readonly (readonly [RegExp, Solver])[] = [
  [
    /^Focus into the (?:(\d+)\w+ input )?textbox/,
    (task, which = '1') => task.click(fields(task)[Number(which || 1) - 1]),
  ],
  [
    /^Enter the username "(.+)" and the password "(.+)" into/,
    async (task, user = '', password = '') => {
      for (const [n, text] of [user, password].entries()) {
        await task.type(fields(task)[n], text);
        const cancel = task.all(/button/, /cancel/i)[0];
        if (cancel === undefined) continue;
        await task.click(cancel);
        await task.type(fields(task)[n], text);
      }
      await task.submit(/^(?:Login|OK)/);
    },
  ],
  [
    /^Enter the password "(.+)" into both/,
    async (task, password = '') => {
      await task.type(fields(task)[0], password);
      await task.type(fields(task)[1], password);
      await task.submit();
    },
  ],
  [
    /^Enter (\d+)\/(\d+)\/(\d+) as the date/,
    async (task, month, day, year) => {
      const given = /date/.test(fields(task)[0]?.states ?? '') ? `${year}-${month}-${day}` : `${year}-${month}-${day}`;
      await task.type(fields(task)[0], given);
      await task.submit();
    },
  ],
  [
    /^Enter (\d+):(\d+) ([AP])M as the time/,
    async (task, hours, minutes, half) => {
      const hour = (Number(hours) % 12) + (half === 'P' ? 12 : 0);
      await task.type(fields(task)[0], `${String(hour).padStart(2, '0')}:${minutes}`);
      await task.submit();
    },
  ],
  [/^Enter an item that starts with "(.+)" and ends with "(.+)"/, complete],
  [/^Enter an item that starts with "(.+)"/, complete],
  [
    /^Enter "(.+)" into the text field/,
    async (task, text = '') => {
      await task.type(fields(task)[0], text);
      await task.submit();
    },
  ],
  [
    /^Type "(.+)" in all (\w+) case/,
    async (task, text = '', how = '') => {
      await task.type(fields(task)[0], cased(text, how));
      await task.submit();
    },
  ],
  [
    /^Enter the value of (.+) into the text field/,
    async (task, label = '') => {
      await task.type(fields(task)[0], cell(task, label));
      await task.submit();
    },
  ],
  [
    /^Enter the value that corresponds with each label/,
    async task => {
      const labels = task.lines().flatMap(line => /text: (.+):$/.exec(line)?.[1] ?? []);
      for (const [n, label] of labels.filter(each => cell(task, each) !== '').entries())
        await task.type(fields(task)[n], cell(task, label));
      await task.submit();
    },
  ],
  [
    /^Find the (\d+)\w+ word in the paragraph/,
    async (task, which = '') => {
      const words = (/paragraph: (.*)/.exec(task.text)?.[1] ?? '').split(/\s+/);
      await task.type(fields(task)[0], words[nth(which)]?.replace(/[.,]/g, '') ?? '');
      await task.submit();
    },
  ],
  [
    /^Find the last word in the text area/,
    async task => {
      await task.type(fields(task)[1], fields(task)[0]?.name.trim().split(/\s+/).at(-1)?.replace(/"$/, '') ?? '');
      await task.submit();
    },
  ],
  [
    /^Scroll the textarea to the (top|bottom)/,
    async (task, end) => {
      await task.click(fields(task)[0]);
      await task.press(end === 'top' ? 'Control+Home' : 'Control+End');
      await task.submit();
    },
  ],
  [
    /^Scroll to the bottom of the textarea, enter the name "(.+)" then press "(.+)"/,
    async (task, name = '', button) => {
      await task.act(fields(task)[0], 'browser_hover');
      await task.call('browser_mouse_wheel', { deltaX: 0, deltaY: 20_000 });
      await task.lookFor(/textbox/, /Name/);
      await task.type(task.all(/textbox/, /Name/)[0], name);
      await task.click(task.all(/button/, button)[0]);
    },
  ],
  [
    /^Use the terminal below to delete a file (?:ending with the extension (\S+)|that has no)/,
    async (task, extension = '') => {
      const run = async (command: string) => {
        await task.act(task.all(/textbox/, /terminal/)[0], 'browser_type', { text: command, slowly: true });
        await task.press('Enter');
      };
      await run('ls');
      const files =
        task.text
          .slice(task.text.indexOf('user$ ls'))
          .match(/(?<=text: ).*/g)
          ?.flatMap(line => line.split(/\s+/)) ?? [];
      const file = files.find(each => (extension === '' ? /^[a-z]+$/.test(each) : each.endsWith(extension)));
      await run(`rm ${file}`);
    },
  ],
  [
    /^Copy the text (?:in the textarea|from the (\d)\w+ text area)/,
    async (task, which = '') => {
      const all = fields(task);
      const to = which === '' ? all.find(({ name }) => /answer/.test(name)) : all.at(-1);
      const from = which === '' ? all.find(each => each !== to) : all[Number(which) - 1];
      await task.type(to, from?.name ?? '');
      await task.submit();
    },
  ],
  [
    /^Solve for x/,
    async task => {
      const [, left = '', how = '', right = '', total = ''] =
        /(\w+) ([-+]) (\w+) = (-?\d+)/.exec(task.text.replace(/text: /g, '')) ?? [];
      const number = left === 'x' ? Number(right) : Number(left);
      const x = how === '+' ? Number(total) - number : left === 'x' ? Number(total) + number : number - Number(total);
      await task.type(fields(task)[0], String(x));
      await task.submit();
    },
  ],
  [
    /^Solve the math problem/,
    async task => {
      await task.type(fields(task)[0], String(compute(task.text.slice(task.text.indexOf('submit when done')))));
      await task.submit();
    },
  ],
  [
    /^Type the text below/,
    async task => {
      const said = task
        .lines()
        .slice(0, fields(task)[0]?.line)
        .flatMap(line => /^ *- text: (\S)$/.exec(line)?.[1] ?? [])
        .join('');
      await task.type(fields(task)[0], said);
      await task.submit();
    },
  ],
];
