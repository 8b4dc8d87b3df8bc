import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Toolset } from '../../../contract/assignment.ts';
import { eventually } from '../../eventually.ts';
import { openSearch } from '../../search.ts';
import { watchLive } from '../live/viewer.ts';
import { leaksOf } from './leaks.ts';
import { type Answer, type HostileLease, leaseOnHostileSite, PASSWORD } from './lease-on-hostile-site.ts';

/** How pages rewrite it: each character moved by one, and their codes. */
const SHIFTED = [...PASSWORD].map(c => String.fromCharCode(c.charCodeAt(0) + 1)).join('');
const SHIFTED_CODES = [...PASSWORD].map(c => c.charCodeAt(0) + 1).join(',');
const LETTER = PASSWORD.charCodeAt(0);
const FORMATS = ['text', 'html', 'links', 'accessibility'];

/** Ways out for a filled password that agents or pages found: no tool of the toolset is one. */
export function describeWaysOut(toolset: Extract<Toolset, 'both' | 'compat'>): void {
  const search = openSearch();
  describe(`with the toolset ${toolset}`, () => {
    let lease: HostileLease;
    const seen: string[] = [];
    beforeAll(async () => {
      lease = await leaseOnHostileSite(toolset);
    }, 60_000);
    afterAll(async () => {
      await lease?.[Symbol.asyncDispose]();
    });
    beforeEach(async () => {
      await call('browser_close');
      seen.length = 0;
    });

    const target = toolset === 'compat' ? 'selector' : 'target';
    async function call(name: string, args: Record<string, unknown> = {}): Promise<Answer> {
      const answer = await lease.call(name, args);
      seen.push(answer.whole);
      return answer;
    }
    const type = (into: string, text: string) => call('browser_type', { [target]: into, text });
    const click = (what: string) => call('browser_click', { [target]: what });
    async function filled(page: string): Promise<void> {
      await lease.goTo(page);
      const { failed, text } = await type('#p', 'SHOP_PASSWORD');
      expect(failed, text).toBe(false);
    }
    async function readAll(): Promise<void> {
      for (const format of FORMATS) await call('browser_get_content', { format });
      if (toolset === 'compat') return;
      await call('browser_snapshot');
      await call('browser_snapshot', { snapshot: 'playwright' });
      await call('browser_network_requests', { static: true });
    }
    const expectNoLeak = (...values: string[]) => {
      for (const value of [PASSWORD, ...values])
        for (const text of seen) expect(leaksOf(text, value), text.slice(0, 3_000)).toEqual([]);
    };
    const ways: [title: string, run: () => Promise<void>][] = [];
    const way = (title: string, run: () => Promise<void>) => void ways.push([title, run]);
    // The compatible tools have no keys and no list of requests.
    const withPlaywright: (title: string, run: () => Promise<void>) => void =
      toolset === 'compat' ? () => undefined : way;

    way('one letter a button, a row, a link, a heading, a picture: no result lists them', async () => {
      await filled('letters');
      await readAll();
      expect(seen.filter(text => text.includes('>SHOP_PASSWORD<')).length).toBeGreaterThan(2);
      const letters = [...PASSWORD].filter(c => /[a-z0-9]/i.test(c));
      for (const text of seen) {
        // The rest between the names of a credential, quoted or at the end of a line, is no list of letters.
        const left = [...text.matchAll(/(?:"|: |>|\\")([^\s<>"\\])(?:\\?"|\\n|\n|<)/g)].map(([, c]) => c).join('');
        expect(left, text.slice(0, 3_000)).not.toContain(letters.slice(0, 6).join(''));
      }
      expectNoLeak();
    });

    way('one letter a class, a title, a hint, a bound or a line of code: no result lists them', async () => {
      await filled('unseen');
      await readAll();
      const letters = [...PASSWORD].filter(c => /[a-z0-9]/i.test(c)).slice(0, 6);
      for (const text of seen) {
        const told = [...text.matchAll(/(?:~(?:\w+-)?|[=:|] )([^\s<>"\\])(?=\]|\\n|\n| \[|$)/g)]
          .map(([, c]) => c)
          .join('');
        expect(told, text.slice(0, 3_000)).not.toContain(letters.join(''));
      }
      expectNoLeak();
    });

    way('an error quotes no element, of which each holds a letter', async () => {
      await filled('letters');
      const [several, one] = ['#out button', '#out > div:nth-child(1) > button:nth-child(3)'];
      for (const [name, args] of [
        ['browser_click', { [target]: several }],
        ...(toolset === 'compat'
          ? []
          : ([
              ['browser_type', { target: one, text: 'x' }],
              ['browser_select_option', { target: one, values: ['x'] }],
              ['browser_snapshot', { target: several }],
              ['browser_take_screenshot', { target: several }],
            ] as const)),
      ] as const) {
        const { failed, whole } = await call(name, args);
        expect(failed, name).toBe(true);
        expect(whole, name).not.toMatch(/<\/?button/);
      }
      // Nor does the call that fills it in.
      await lease.goTo('letters');
      const fields = [{ selector: '#p', value: 'SHOP_PASSWORD' }];
      const { failed, text } = await call('browser_fill_and_submit', { fields, submitSelector: 'li' });
      expect(failed, text).toBe(true);
      expect(seen.join()).not.toMatch(/<\/?(?:button|li)/);
      expectNoLeak();
    });

    withPlaywright('a snapshot of one element is a part of that of its page, whoever writes it', async () => {
      await filled('letters');
      const letter = '#out > div:nth-child(1) > button:nth-child(1)';
      for (const more of [{}, { depth: 0 }, { snapshot: 'playwright' }, { snapshot: 'playwright', depth: 0 }])
        expect((await call('browser_snapshot', { target: letter, ...more })).text).toContain(
          'button "<secret>SHOP_PASSWORD</secret>"',
        );
    });

    way('spelled by one program and then by another: no result has it', async () => {
      await filled('encoded');
      await readAll();
      const utf16 = Buffer.from(PASSWORD, 'utf16le');
      for (const text of seen)
        for (const encoded of [
          Buffer.from(encodeURIComponent(PASSWORD)).toString('base64'),
          utf16.toString('base64'),
          utf16.toString('hex'),
          Object.values({ ...Buffer.from(PASSWORD) })
            .map((code, at) => `\\"${at}\\":${code}`)
            .join(),
        ])
          expect(text).not.toContain(encoded.slice(0, encoded.length * 0.6));
      expectNoLeak();
    });

    way('no list and no radio button that came with it reveals what it is by what is chosen', async () => {
      const told = new Set<string>();
      await filled('choices');
      for (const guess of [PASSWORD[0], 'z'])
        for (const [tool, args] of [
          ['browser_type', { [target]: '#list0', text: guess }],
          ['browser_type', { [target]: 'select:nth-of-type(1)', text: guess }],
          ['browser_type', { selector: 'input[type=radio]', text: guess }],
          ['browser_fill_and_submit', { fields: [{ selector: 'select:nth-of-type(1)', value: guess }] }],
          ...(toolset === 'compat'
            ? []
            : ([
                ['browser_select_option', { target: 'select:nth-of-type(1)', values: [guess] }],
                ['browser_select_option', { target: '#box', values: [guess] }],
                ['browser_select_option', { target: '#suggested', values: [guess] }],
                [
                  'browser_fill_form',
                  { fields: [{ target: 'select:nth-of-type(1)', type: 'combobox', name: 'x', value: guess }] },
                ],
              ] as const)),
        ] as const) {
          const { code, text } = await call(tool, args);
          expect(code, `${tool} ${text}`).toMatch(/secret_on_page|selector_refused/);
          told.add(`${tool} ${code}`);
        }
      expectNoLeak();
    });

    way('nor by what is chosen in the call that fills it in', async () => {
      for (const guess of [PASSWORD[0] ?? '', 'z']) {
        await lease.goTo('choices');
        const { code, text } = await call('browser_fill_and_submit', {
          fields: [
            { selector: '#p', value: 'SHOP_PASSWORD' },
            { selector: 'select', value: guess },
          ],
          submitSelector: '#other',
        });
        expect(code, text).toMatch(/element_not_found|browser_action_timeout/);
        if (toolset === 'compat') continue;
        await lease.goTo('choices');
        const form = await call('browser_fill_form', {
          fields: [
            { target: '#p', type: 'textbox', name: 'p', value: 'SHOP_PASSWORD' },
            { target: 'select', type: 'combobox', name: 'l', value: guess },
          ],
        });
        expect(form.failed, form.text).toBe(true);
        expect(form.text).not.toContain('was filled in');
      }
      expectNoLeak();
    });

    way('no tag, class, id or test id that came with it is asked for, and each that was there is', async () => {
      await filled('choices');
      for (const letter of [LETTER, 1])
        for (const asked of [
          `.at0-${letter}`,
          `#first-${letter}`,
          `x-${letter}`,
          `#out > #first-${letter}`,
          `[id="first-${letter}"]`,
        ])
          for (const [tool, args] of [
            ['browser_click', { [target]: asked }],
            ['browser_wait', { selector: asked, ms: 10 }],
            ['browser_login', { site: 'shop', passwordSelector: '#p', totpSelector: asked }],
            ['browser_fill_and_submit', { fields: [{ selector: '#q', value: 'x' }], submitSelector: asked }],
            ...(toolset === 'compat' ? [] : ([['browser_snapshot', { target: asked }]] as const)),
          ] as const)
            expect((await call(tool, args)).text, `${tool} ${asked}`).toContain('selector_refused');
      expect((await click('#q')).failed).toBe(false);
      expect((await click('form button')).failed).toBe(false);
      expectNoLeak();
    });

    way('elements added later are named as a result names them', async () => {
      await filled('letters');
      expect((await click('#later')).text).toContain('selector_refused');
      const { text } = await call('browser_get_content');
      const shown = JSON.parse(text).buttons.map((each: { selector: string }) => each.selector);
      const later = shown.find((selector: string) => selector.startsWith('#out'));
      expect((await click(later)).failed, later).toBe(false);
    });

    withPlaywright('no key chooses in a list', async () => {
      await filled('choices');
      await click('select:nth-of-type(1)');
      for (const key of [PASSWORD[0] ?? '', '*', 'z'])
        expect((await call('browser_press_key', { key })).text, key).toContain('none in a list');
      await call('browser_press_key', { key: 'Escape' });
      expectNoLeak();
    });

    way('a secret that a page rewrites in its field is shown nowhere else', async () => {
      await filled('rewritten');
      await click('#rewrite');
      await readAll();
      await click('#spread');
      await readAll();
      expect(seen.filter(text => text.includes('>SHOP_PASSWORD<')).length).toBeGreaterThan(2);
      expectNoLeak(SHIFTED);
    });

    way('a part that is cut off in its field and moved is shown nowhere else', async () => {
      await filled('plain');
      await click('#trim');
      await readAll();
      await click('#move');
      await readAll();
      for (const text of seen) expect(text).not.toContain(PASSWORD.slice(0, 5));
    });

    way('a file that such a page makes is not read, and its name is withheld', async () => {
      await filled('files');
      await click('#file');
      await eventually('the download', async () => {
        await call('browser_get_content', { format: 'text' });
        return seen.some(text => text.includes('Downloaded file'));
      });
      const { resources } = await lease.client.listResources();
      expect(resources).toEqual([]);
      await expect(lease.client.readResource({ uri: 'download:/1' })).rejects.toThrow('not a file to be read here');
      for (const text of seen) expect(text).not.toContain(SHIFTED_CODES.slice(0, 20));
      expectNoLeak(PASSWORD.replace(/\W/g, ''));
    });

    way('nor one of a page that is gone as soon as it has made it', async () => {
      for (let n = 0; n < 4; n += 1) {
        await filled('files');
        await click('#leave');
        await eventually('the download', async () => {
          await call('browser_get_content', { format: 'text' });
          return seen.some(text => text.includes('Downloaded file'));
        });
        seen.length = 0;
      }
      const { files } = JSON.parse((await call('browser_file_list')).text);
      for (const { name } of files) expect((await call('browser_file_read', { name })).code, name).toBe('file_closed');
      expect((await lease.client.listResources()).resources).toEqual([]);
    });

    withPlaywright('what such a page sent stays closed when the page is gone', async () => {
      await filled('telling');
      await click('#send');
      const list = (await call('browser_network_requests', { static: true })).text;
      const [, index] = /^(\d+)\. \[GET\] \S*\/told/m.exec(list) ?? [];
      for (const part of ['request-headers', 'response-headers', 'response-body', undefined]) {
        const { text } = await call('browser_network_request', { index: Number(index), ...(part && { part }) });
        expect(text, part).toContain('secret_on_page');
      }
      expectNoLeak();
    });

    way('a popup, its address and its title are shown without it', async () => {
      await filled('plain');
      await click('#address');
      const { whole } = await click('#popup');
      expect(whole).toContain('blank');
      await readAll();
      await call('browser_tabs', { action: 'list' });
      await call('browser_tabs', { action: 'select', index: 1 });
      await readAll();
      expectNoLeak();
    });

    way('a viewer of the live view reads no title, address or dialog with it', async () => {
      const viewer = await watchLive(lease.runner.url, await lease.controller.liveToken(lease.runner, {}));
      await filled('copy');
      await viewer.heard('tabs', ({ tabs }) => tabs.some(({ title }) => title.includes('SHOP_PASSWORD')));
      await filled('plain');
      await click('#address');
      await viewer.heard('tabs', ({ tabs }) => tabs.some(({ url }) => url.includes('SHOP_PASSWORD')));
      await click('#ask');
      expect((await viewer.heard('dialog')).text).toContain('SHOP_PASSWORD');
      const late = await watchLive(lease.runner.url, await lease.controller.liveToken(lease.runner, {}));
      expect((await late.heard('dialog')).text).toContain('SHOP_PASSWORD');
      await call('browser_handle_dialog', { accept: true });
      seen.push(JSON.stringify([...viewer.messages, ...late.messages]));
      viewer.close();
      late.close();
      expectNoLeak();
    });

    for (const [title, run] of search.sliceOf(ways)) test(title, run);

    test('nothing of it is in an event or in the log', () => {
      for (const value of [PASSWORD, SHIFTED]) {
        expect(leaksOf(JSON.stringify(lease.controller.events), value)).toEqual([]);
        expect(leaksOf(lease.runner.output(), value)).toEqual([]);
      }
    });
  });
}
