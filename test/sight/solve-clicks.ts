import { FIELD, fields, listOf, pickDate, type Solver, seek, slide, tick } from './moves.ts';

/** Goals that are reached by clicks and choices. */
export const CLICK_SOLVERS: readonly (readonly [RegExp, Solver])[] = [
  [
    /^Click button ONE, wait (\d+) seconds?, then click button TWO/,
    async (task, seconds) => {
      await task.click(task.all(/button/, 'ONE')[0]);
      await task.call('browser_wait_for', { time: Number(seconds) });
      await task.click(task.all(/button/, 'TWO')[0]);
    },
  ],
  [
    /^Click button ONE, then click button TWO/,
    async task => {
      await task.click(task.all(/button/, 'ONE')[0]);
      await task.click(task.all(/button/, 'TWO')[0]);
    },
  ],
  [/^Click (?:on )?(?:the )?button (?:labeled )?"?(\w+)"?\.$/, (task, name) => task.click(task.all(/button/, name)[0])],
  [/^Click on the "(.+)" button/, (task, name) => task.click(task.all(/button/, name)[0])],
  [/^Click the button\.$/, task => task.click(task.all(/button/)[0])],
  [
    /^Click the button in the dialog box labeled "(.+)"/,
    (task, name) => task.click(task.all(/button/, name === 'x' ? 'Close' : name)[0]),
  ],
  [/^Close the dialog box/, task => task.click(task.all(/button/, /close/i)[0])],
  [
    /^Click the "Menu" button, and then find and click on the item (?:labeled "(.+)"|with the "(.+)" icon)/,
    async (task, name = '', icon = '') => {
      await task.click(task.all(/button/, 'Menu')[0]);
      const wanted = () => task.all(/menuitem/, name || new RegExp(icon, 'i'))[0];
      for (const item of task.all(/menuitem/)) {
        if (wanted() !== undefined) break;
        await task.act(item, 'browser_hover');
        await task.lookFor(/menuitem/, name || new RegExp(icon, 'i'));
      }
      await task.click(wanted());
    },
  ],
  [
    /^Select (\S+>.+)$/,
    async (task, path = '') => {
      for (const name of path.replace(/\.$/, '').split('>')) {
        await task.act(await task.lookFor(/menuitem/, name), 'browser_hover');
      }
      await task.click(task.all(/menuitem/, path.replace(/\.$/, '').split('>').at(-1))[0]);
    },
  ],
  [/^Click on Tab #(\d+)/, (task, number) => task.click(task.all(/tab|link/, `Tab #${number}`)[0])],
  [
    /^Expand the section below and click submit/,
    async task => {
      await task.click(task.all(/tab/, /Section/)[0]);
      await task.submit();
    },
  ],
  [/find and click on the link "(.+)"/, seek],
  [/^Click on the link "(.+)"/, seek],
  [/^Navigate through the file tree.*named "(.+)"/, seek],
  [
    /^Expand the pie menu.*labeled "(.+)"/,
    async (task, name) => {
      await task.click(task.all(/generic/).at(-1));
      // It takes no click while it unfolds.
      await task.act(task.all(/generic/, name)[0], 'browser_hover');
      for (let turns = 0; turns < 3 && task.all(/generic/, name).length > 0; turns += 1)
        await task.click(task.all(/generic/, name)[0]);
    },
  ],
  [
    /^Select (.+) from the list and click Submit/,
    async (task, name) => {
      await task.act(task.all(/combobox|listbox/)[0], 'browser_select_option', { values: [name] });
      await task.submit();
    },
  ],
  [
    /^Select (.+) from the scroll list/,
    async (task, names = '') => {
      await task.act(task.all(/listbox/)[0], 'browser_select_option', { values: listOf(names) });
      await task.submit();
    },
  ],
  [
    /^Select all the shades of (\w+)/,
    async (task, color) => {
      for (const { ref } of task.all(/generic/, new RegExp(`^${color}\\b`)))
        await task.call('browser_click', { target: ref });
      await task.submit();
    },
  ],
  [/^Select (\d+)\/(\d+)\/\d+ as the date/, pickDate],
  [
    /^Select (-?\d+) with the slider and hit/,
    async (task, wanted) => {
      await slide(task, 0, Number(wanted));
      await task.submit();
    },
  ],
  [
    /^Select (-?\d+) with the slider, click the (\d+)\w+ checkbox/,
    async (task, wanted, which) => {
      await slide(task, 0, Number(wanted));
      await task.click(task.all(/checkbox/)[Number(which) - 1]);
      await task.submit();
    },
  ],
  [
    /^Set the sliders to the combination \[(.+)\]/,
    async (task, all = '') => {
      for (const [n, wanted] of all.split(',').entries()) await slide(task, n, Number(wanted));
      await task.submit();
    },
  ],
  [
    /^Select (-?\d+) with the spinner/,
    async (task, wanted) => {
      await task.type(fields(task)[0], wanted ?? '');
      await task.submit();
    },
  ],
  [
    /^Select words similar/,
    async () => {
      throw new Error('a thesaurus is needed');
    },
  ],
  [
    /^Select (\w+) with the color picker/,
    async (task, color = '') => {
      const COLORS: Record<string, string> = {
        red: 'FF0000',
        green: '00FF00',
        blue: '0000FF',
        yellow: 'FFFF00',
        cyan: '00FFFF',
        magenta: 'FF00FF',
        white: 'FFFFFF',
        black: '000000',
      };
      await task.type(fields(task)[0], COLORS[color] ?? color);
      await task.press('Tab');
      await task.submit();
    },
  ],
  [/^Select (.+) and click Submit/, tick],
  [
    /^Click on a "(.+)" widget/,
    (task, kind = '') => {
      const role = { radio: /radio/, checkbox: /checkbox/, button: /button/ }[kind] ?? FIELD;
      return task.click(task.all(role)[0]);
    },
  ],
  [
    /^Click on (?:the|a) (.+) colored box|^Click on the$/,
    async (task, color = '') => {
      const [first, ...others] = task.all(/generic/);
      const boxes = first === undefined || color === '' ? others : [first, ...others];
      await task.click(boxes.find(({ name }) => name === (color || first?.name)));
    },
  ],
  [
    /^Click on a (.+)$/,
    (task, what = '') => {
      const words = what.toLowerCase().split(' ');
      const KINDS: Record<string, RegExp> = { letter: /^[a-z]$/, digit: /^\d$/, number: /^\d$/, item: /./ };
      return task.click(
        task
          .parts()
          .find(({ name }) =>
            words.every(word => KINDS[word]?.test(name.toLowerCase()) ?? name.toLowerCase().includes(word)),
          ),
      );
    },
  ],
  [
    /^Click on the numbers in ascending order/,
    async task => {
      // All but the first lose their numbers, and keep their order.
      for (let turns = task.all(/generic/).length; turns > 0; turns -= 1) await task.click(task.all(/generic/)[0]);
    },
  ],
  [
    /^Click the button that best describes the figure/,
    task => {
      const [{ name = '' } = {}] = task.all(/generic/);
      const kind = /^\d$/.test(name) ? 'Number' : /^\w$/.test(name) ? 'Letter' : name.replace(/.*-/, '');
      return task.click(task.all(/button/, kind)[0]);
    },
  ],
  [
    /^Find and pick the card with the greatest number/,
    async task => {
      const [best] = task.all(/generic/).sort((a, b) => Number(b.name) - Number(a.name));
      await task.click(best);
      await task.submit();
    },
  ],
];
