import { isDeepStrictEqual } from 'node:util';
import type { Page } from 'playwright-core';
import { pickerField, type ServerMessage } from '../../contract/live.ts';

/**
 * Fields whose list or picker no screencast shows and no press of a remote person reaches: Chromium draws it as a window of
 * its own. The person chooses in the console instead.
 */
export interface Pickers {
  /** The person in control has pressed or typed in the tab, which may have brought the focus to such a field. */
  acted(page: Page): void;
  /** The field that is offered now, for a viewer that has come. */
  open(): ServerMessage[];
  /** Sets the field that has the focus, and notifies the page. Does nothing where another one is offered by now. */
  pick(page: Page, picked: Picked): Promise<void>;
  /** Offers none any more. */
  end(): void;
}

/** The choice: options of a list by their places, or the value of a field. */
export interface Picked {
  readonly options?: readonly number[] | undefined;
  readonly value?: string | undefined;
}

export interface PickersOptions {
  /** Names tabs. */
  readonly idOf: (page: Page) => number;
  /** Notifies every viewer. */
  readonly say: (message: ServerMessage) => void;
  /** Takes secrets out of a text. */
  readonly conceal: (text: string) => Promise<string>;
}

const OPTIONS_MAX = 500;
const LABEL_MAX = 200;

/** The focus, in open shadow roots and frames of the same origin too, with its place in the tab. */
const FOCUSED = `(() => {
  let e = document.activeElement, x = 0, y = 0;
  for (;;) {
    let inner;
    try { inner = e?.shadowRoot?.activeElement ?? e?.contentDocument?.activeElement; } catch {}
    if (!inner) break;
    if (e.contentDocument) { const box = e.getBoundingClientRect(); x += box.x + e.clientLeft; y += box.y + e.clientTop; }
    e = inner;
  }
  const kinds = 'select, input:is([type=date], [type=time], [type=datetime-local], [type=month], [type=week], [type=color])';
  return e?.matches(kinds) && !e.disabled && !e.readOnly ? { e, x, y } : undefined;
})()`;

const READ = `(() => {
  const focused = ${FOCUSED};
  if (!focused) return null;
  const { e, x, y } = focused;
  const box = e.getBoundingClientRect();
  const options = e.matches('select') ? [...e.options].slice(0, ${OPTIONS_MAX}).map(({ label, selected, disabled, parentElement }) => ({
    label: label.replace(/\\s+/g, ' ').slice(0, ${LABEL_MAX}), selected, disabled: disabled || parentElement.disabled === true })) : [];
  return { kind: e.matches('select') ? 'select' : e.type, value: e.value, multiple: e.multiple === true, options,
    min: e.min ?? '', max: e.max ?? '', step: e.step ?? '', x: x + box.x, y: y + box.y, width: box.width, height: box.height };
})()`;

/** As a person's choice: the page hears of it. The focus leaves and comes back, which closes the list or picker in the page. */
const pickScript = (picked: Picked) => `(() => {
  const e = ${FOCUSED}?.e, picked = ${JSON.stringify(picked)};
  if (!e) return;
  if (e.matches('select')) [...e.options].forEach((option, at) => { option.selected = picked.options?.includes(at) === true; });
  else Object.getOwnPropertyDescriptor(e.ownerDocument.defaultView.HTMLInputElement.prototype, 'value').set.call(e, picked.value ?? '');
  for (const kind of ['input', 'change']) e.dispatchEvent(new Event(kind, { bubbles: true, composed: kind === 'input' }));
  e.blur();
  e.focus();
})()`;

export function livePickers({ idOf, say, conceal }: PickersOptions): Pickers {
  let offered: Extract<ServerMessage, { t: 'picker' }> | undefined;
  /** Looks under way show a field as it was before the last choice, or to a person who has control no longer. */
  let outdated = 0;
  let looking = false;
  /** Acted in meanwhile. */
  let wanted: Page | undefined;

  function withdraw(): void {
    if (offered === undefined) return;
    say({ t: 'picker_closed', tab: offered.tab });
    offered = undefined;
  }

  async function look(page: Page): Promise<void> {
    const before = outdated;
    // The script runs among the page's own, which may have changed what it calls.
    const field = pickerField.safeParse(await page.evaluate(READ).catch(() => null)).data;
    if (field === undefined) {
      withdraw();
      return;
    }
    const labels = (await conceal(field.options.map(({ label }) => label).join('\n'))).split('\n');
    const value = field.kind === 'select' ? '' : await conceal(field.value);
    const [min, max, step] = [await conceal(field.min), await conceal(field.max), await conceal(field.step)];
    if (outdated !== before) return;
    const options = field.options.map((option, at) => ({ ...option, label: labels[at] ?? '' }));
    const found = { t: 'picker', tab: idOf(page), field: { ...field, value, min, max, step, options } } as const;
    // The press and the release of one click look twice: sent again, the field would lose what the person has filled in meanwhile.
    if (isDeepStrictEqual(found, offered)) return;
    offered = found;
    say(offered);
  }

  async function lookUntilStill(): Promise<void> {
    looking = true;
    while (wanted !== undefined) {
      const page = wanted;
      wanted = undefined;
      await look(page);
    }
    looking = false;
  }

  return {
    acted(page) {
      wanted = page;
      if (!looking) void lookUntilStill();
    },
    open: () => (offered === undefined ? [] : [offered]),
    async pick(page, picked) {
      if (offered?.tab !== idOf(page)) return;
      outdated += 1;
      withdraw();
      await page.evaluate(pickScript(picked));
    },
    end() {
      outdated += 1;
      wanted = undefined;
      withdraw();
    },
  };
}
