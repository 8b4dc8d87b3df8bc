import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { eventually } from '../../eventually.ts';
import { openSearch } from '../../search.ts';
import { HOSTILE_PAGES } from '../../site/hostile-site.ts';
import { blocksDrawn } from './blocks-drawn.ts';
import { leaksOf } from './leaks.ts';
import { type Answer, type HostileLease, leaseOnHostileSite, PASSWORD } from './lease-on-hostile-site.ts';

const READ = '() => [...document.querySelectorAll("input, textarea")].map(each => [...each.value])';

/** Elements are named by refs and harmless selectors (secrecy/selectors.ts); each other text says what it may do. */
const JUDGED = new RegExp(
  [
    '\\w+ (?:fields\\.)?(?:\\w*[tT]arget|\\w*[sS]elector)',
    // Matched against nothing.
    '\\w+ (?:fields\\.)?(?:element|startElement|endElement|name|sessionId)|browser_request_user_action reason',
    'browser_handle_dialog promptText|browser_(?:file_upload|drop) paths|browser_file_read offset|browser_click modifiers',
    'browser_login (?:domain|site)', // the page's own domain, and names of credentials
    // Put into the page, or opened; addresses that look for a text are refused.
    'browser_type text|browser_fill_\\w+ fields\\.value|browser_(?:open|navigate|tabs) url|browser_press_key key',
    // Refused in a tainted tab.
    'browser_find (?:text|regex)|browser_evaluate function|browser_drag words|browser_drop data',
    // Matched against texts without secrets, or options that hold none.
    'browser_network_requests filter|browser_wait_for (?:text|textGone)|browser_select_option values',
  ]
    .map(each => `^(?:${each})$`)
    .join('|'),
);

interface Schema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly properties?: Record<string, object>;
  readonly items?: object;
}

/** The names of a schema's texts, at any depth; of a list, its own. */
const textsIn = ({ properties = {} }: Schema): string[] =>
  Object.entries(properties).flatMap(([name, schema]: [string, Schema]) => {
    const inner: Schema = schema.items ?? schema;
    if (inner.properties !== undefined) return textsIn(inner).map(each => `${name}.${each}`);
    return inner.type === 'string' && inner.enum === undefined ? [name] : [];
  });

const search = openSearch();

describe.each(['both', 'compat'] as const)('with the toolset %s', toolset => {
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
    seen.push(answer.text);
    return answer;
  }
  const type = (into: string, text: string, more = {}) => call('browser_type', { [target]: into, text, ...more });
  const click = (what: string) => call('browser_click', { [target]: what });
  const evaluate = (script = READ, more = {}) => call('browser_evaluate', { function: script, ...more });
  /** Opens a page and fills the password in. */
  async function filled(page: string): Promise<void> {
    await lease.goTo(page);
    // One page replaces the field all the time, another cuts what is filled in.
    const { failed, text } = await eventually('a field that stays', async () => {
      const answer = await type('#p', 'SHOP_PASSWORD');
      return page === 'redraw' && answer.failed ? undefined : answer;
    });
    expect(failed, text).toBe(page === 'trim');
  }
  const expectNoLeak = () => {
    for (const text of seen) expect(leaksOf(text, PASSWORD), text.slice(0, 2_000)).toEqual([]);
  };
  // The compatible tools have no scripts and no keys.
  const withEvaluate: (title: string, run: () => Promise<void>) => void = toolset === 'compat' ? () => undefined : test;

  withEvaluate('1. a field that was cleared is not brought back by undo, nor read', async () => {
    await filled('plain');
    await type('#p', '');
    for (const key of ['Control+z', 'Undo', 'Control+Shift+z', 'Meta+z', 'ControlOrMeta+z'])
      expect((await call('browser_press_key', { key })).text, key).toContain('secret_on_page');
    // The page's own undo finds nothing to bring back.
    await click('#undo');
    expect((await evaluate()).text).toContain('secret_on_page');
    await click('#send');
    expect(lease.site.arrived.at(-1)).toBe('');
    expectNoLeak();
  });

  withEvaluate('2. a field that was detached and put back, moved, or drawn anew is not read', async () => {
    for (const [first, second] of [
      ['#detach', '#attach'],
      ['#move', '#redraw'],
      ['#toggle', '#trim'],
      ['#redraw', '#toggle'],
    ] as const) {
      await filled('plain');
      await click(first);
      expect((await evaluate()).text, first).toContain('secret_on_page');
      await click(second);
      expect((await evaluate()).text, second).toContain('secret_on_page');
      await call('browser_snapshot');
    }
    expectNoLeak();
  });

  test('3. what another field, a text or a title shows of it is in no result', async () => {
    for (const button of search.sliceOf(['#other', '#half', '#toggle', '#trim', '#log', '#address', '#popup'])) {
      await filled('plain');
      await click(button);
      if (toolset !== 'compat') {
        await call('browser_snapshot');
        expect((await evaluate()).text).toContain('secret_on_page');
        expect((await call('browser_console_messages', { level: 'debug' })).text).toContain('secret_on_page');
        await call('browser_tabs', { action: 'list' });
      }
      for (const format of toolset === 'compat' ? ['text', 'html', 'links', 'accessibility'] : ['html', 'text'])
        await call('browser_get_content', { format });
    }
    expectNoLeak();
  });

  test('3. what is left of it in its field is in no picture of another one', async () => {
    await lease.goTo('plain');
    expect((await type('#p', 'BLOCK_PASSWORD')).failed).toBe(false);
    for (const button of ['#toggle', '#trim', '#other']) await click(button);
    const { text, pictures } = await call(toolset === 'compat' ? 'browser_screenshot' : 'browser_take_screenshot');
    expect(pictures, text).toHaveLength(1);
    expect(await blocksDrawn(pictures)).toEqual([false]);
  });

  test('every text that an agent may pass was judged: what it is matched against, and how a secret stays out of the answer', async () => {
    const { tools } = await lease.client.listTools();
    const passed = tools.flatMap(({ name, inputSchema }) => textsIn(inputSchema).map(text => `${name} ${text}`));
    expect(passed.filter(text => !JUDGED.test(text))).toEqual([]);
  });

  test('4. no selector asks for the value, in any tool', async () => {
    for (const page of ['mirror', 'options']) {
      await filled(page);
      for (const guess of ['T', 'x'])
        for (const asked of search.sliceOf([
          `#p[value^="${guess}"]`,
          `#p:is([value^="${guess}"], b)`,
          `#p:not([value^="${guess}"])`,
          `#out[data-value^="${guess}"]`,
          `text=${guess}`,
          `#out:has-text("${guess}")`,
          `option:text-is("${guess}")`,
          `xpath=//input[starts-with(@value, "${guess}")]`,
          `getByText('${guess}')`,
          `getByRole('textbox', { name: '${guess}' })`,
        ])) {
          const calls: [string, Record<string, unknown>][] = [
            ['browser_click', { [target]: asked }],
            ['browser_type', { [target]: asked, text: 'x' }],
            ['browser_fill_and_submit', { fields: [{ selector: asked, value: 'x' }] }],
            ['browser_wait', { selector: asked, ms: 10 }],
            ['browser_login', { usernameSelector: asked }],
          ];
          if (toolset !== 'compat')
            calls.push(
              ['browser_snapshot', { target: asked }],
              ['browser_hover', { target: asked }],
              ['browser_take_screenshot', { target: asked }],
              ['browser_fill_form', { fields: [{ target: asked, name: 'x', type: 'textbox', value: 'x' }] }],
              ['browser_select_option', { target: asked, values: ['x'] }],
            );
          for (const [name, args] of calls)
            expect((await call(name, args)).text, `${name} ${asked}`).toMatch(/selector_refused|secret_on_page/);
        }
    }
    expectNoLeak();
  });

  test('no text that is waited for, no filter and no list of options reveals what the value is', async () => {
    if (toolset === 'compat') return;
    const part = PASSWORD.slice(0, 5);
    await filled('copy');
    for (const text of [part, 'zzzzz']) {
      expect((await call('browser_wait_for', { text })).text).toContain('browser_action_timeout');
      expect((await call('browser_wait_for', { textGone: text })).text).toContain('Waited for');
    }
    await call('browser_fill_form', { fields: [] });
    await filled('options');
    for (const option of ['T', 'z'])
      expect((await call('browser_select_option', { target: 'select', values: [option] })).text).toContain(
        'secret_on_page',
      );
    await filled('get');
    await click('#send');
    const listed = async (filter: string) =>
      (await call('browser_network_requests', { static: true, filter })).text.match(/^\d+\. /gm)?.length ?? 0;
    expect(await listed(`password=${encodeURIComponent(part.slice(0, 1))}`)).toBe(0);
    expect(await listed('/sent')).toBeGreaterThan(0);
    expectNoLeak();
  }, 120_000);

  test('5. however a page writes it, no result has it', async () => {
    for (const page of search.sliceOf(HOSTILE_PAGES)) {
      await filled(page);
      for (const format of ['text', 'html', 'links', 'accessibility']) await call('browser_get_content', { format });
      if (toolset !== 'compat') await call('browser_snapshot');
      await click('#send');
      for (const format of ['text', 'html']) await call('browser_get_content', { format });
      if (toolset !== 'compat') {
        await call('browser_network_requests', { static: true });
        for (const part of ['request-headers', 'request-body', 'response-headers', 'response-body'])
          await call('browser_network_request', { index: 1, part });
      }
    }
    expectNoLeak();
  }, 120_000);

  withEvaluate('a document in which a script ran is not filled until it was loaded anew', async () => {
    await lease.goTo('plain');
    await evaluate(
      '() => { addEventListener("input", event => { document.title = [...event.target.value].join("-") }) }',
    );
    // A person's input would be lost with the page.
    await type('#q', 'mine');
    expect((await type('#p', 'SHOP_PASSWORD')).text).toContain('scripted_document');
    // Nor one that it opened, however that was loaded since.
    await evaluate('() => { window.other = open("/plain"); }');
    await call('browser_tabs', { action: 'select', index: 1 });
    expect((await type('#p', 'SHOP_PASSWORD')).text).toContain('scripted_document');
    await lease.goTo('plain');
    expect((await type('#p', 'SHOP_PASSWORD')).text).toContain('scripted_document');
    // It is loaded again where that loses nothing and no other document reaches it.
    await call('browser_close');
    await lease.goTo('plain');
    const listen = '() => { document.title = "scripted" }';
    await evaluate(listen);
    expect((await type('#p', 'SHOP_PASSWORD')).failed).toBe(false);
    await click('#send');
    expect(lease.site.arrived.at(-1)).toBe(PASSWORD);
    await lease.goTo('plain');
    await evaluate(listen);
    const { text } = await call('browser_login', { site: 'shop', passwordSelector: '#p', submitSelector: '#send' });
    expect(JSON.parse(text).status).toBe('ok');
    expect(lease.site.arrived.at(-1)).toBe(PASSWORD);
    expectNoLeak();
  });

  withEvaluate('the agent may replace or clear what it filled, not edit it', async () => {
    await filled('plain');
    for (const key of ['Backspace', 'Delete', 'End', 'a', 'Control+a'])
      expect((await call('browser_press_key', { key })).text, key).toContain('secret_on_page');
    expect((await type('#p', 'x', { slowly: true })).text).toContain('secret_on_page');
    expect((await type('#p', 'mine')).failed).toBe(false);
    await click('#send');
    expect(lease.site.arrived.at(-1)).toBe('mine');
    // It went nowhere else: not into the clipboard, not into another field.
    await lease.goTo('blank');
    for (const key of ['Control+v', 'Shift+Insert', 'Paste'])
      expect((await call('browser_press_key', { key })).text, key).toContain('secret_on_page');
    expectNoLeak();
  });

  test('a dialog that shows it is answered, and its text is withheld', async () => {
    await filled('plain');
    for (const answer of ['browser_handle_dialog', 'browser_close']) {
      await click('#ask');
      expect((await call('browser_get_content', { format: 'text' })).text).toContain('A dialog is open');
      expect((await call(answer, answer === 'browser_close' ? {} : { accept: true })).failed, answer).toBe(false);
      expect((await call('browser_get_content', { format: 'text' })).failed, answer).toBe(false);
    }
    expectNoLeak();
  });

  test('once the document is gone, the tab is open again', async () => {
    await filled('plain');
    await click('#send');
    await lease.goTo('blank');
    await click('p:has-text("Nothing")');
    if (toolset !== 'compat') {
      expect((await evaluate('() => document.title')).text).toContain('blank');
      expect((await call('browser_press_key', { key: 'Control+a' })).failed).toBe(false);
    }
    expect((await call('browser_get_content', { format: 'text' })).text).toContain('Nothing here.');
  });

  // A kept file is there for good: this one comes last.
  withEvaluate('an address, a storage or a history that has the value keeps the document closed', async () => {
    for (const button of ['#address', '#keep']) {
      await filled('plain');
      await click(button);
      await lease.goTo('blank');
      expect(
        (await evaluate('() => [location.href, ...Object.values(localStorage)].join().length')).text,
        button,
      ).toContain('secret_on_page');
      await call('browser_close');
    }
    await filled('get');
    await click('#send');
    expect((await evaluate('() => [...location.search]')).text).toContain('secret_on_page');
    await click('#on');
    expect((await evaluate('() => [...document.referrer]')).text).toContain('secret_on_page');
    expectNoLeak();
  });

  test('no event has it', () => {
    expect(leaksOf(JSON.stringify(lease.controller.events), PASSWORD)).toEqual([]);
    expect(leaksOf(lease.runner.output(), PASSWORD)).toEqual([]);
  });
});
