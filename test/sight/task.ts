import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { callText } from '../runner/start.ts';

/** A part of a snapshot that has a ref. */
export interface Part {
  readonly role: string;
  /** Its name, its guess or its text. */
  readonly name: string;
  readonly states: string;
  readonly ref: string;
  /** Texts of its line and of the lines below it. */
  readonly text: string;
  readonly line: number;
}

const LOOKS_MAX = 12;
const PART = /(?:([a-z]+) )?("(?:[^"\\]|\\.)*"|~\S+)?((?: ?\[[^\]]*\])*) ?\[ref=(\w+)\](?:: ([^\n|]*))?/g;
const unquoted = (text: string): string =>
  /^".*"$/.test(text) ? (JSON.parse(text) as string) : text.replace(/^~/, ''); // written as JSON

/** A task of MiniWoB++ as an agent sees it: by answers of tools alone. */
export class Task {
  readonly #client: Client;
  #text = '';
  /** Calls that search, and targets that no answer has shown. */
  finds = 0;
  guesses = 0;
  /** The sentence that says what is to be done. */
  goal = '';

  constructor(client: Client) {
    this.#client = client;
  }

  get text(): string {
    return this.#text;
  }

  async open(url: string): Promise<void> {
    await this.call('browser_navigate', { url });
    await this.look();
    const lines = this.lines();
    const first = lines.findIndex(line => /^- (?:text|generic[^:]*): /.test(line));
    this.goal = unquoted((lines[first] ?? '').replace(/^- [^:]*: /, ''));
  }

  lines(): string[] {
    return this.#text.split('\n').filter(line => /^ *- (?!Page )/.test(line));
  }

  async look(): Promise<void> {
    this.#text = await callText(this.#client, 'browser_snapshot');
  }

  async call(name: string, args: Record<string, unknown>): Promise<string> {
    if (name === 'browser_find') this.finds += 1;
    for (const each of [args.target, args.startTarget, args.endTarget])
      if (typeof each === 'string' && !/^(?:f\d+)?e\d+$/.test(each)) this.guesses += 1;
    return callText(this.#client, name, args);
  }

  parts(): Part[] {
    const lines = this.lines();
    return lines.flatMap((line, at) => {
      const indent = line.search(/\S/);
      const end = lines.findIndex((other, n) => n > at && other.search(/\S/) <= indent);
      const below = lines.slice(at + 1, end < 0 ? lines.length : end).map(each => each.replace(/^ *- (?:text: )?/, ''));
      return [...line.matchAll(PART)].map(([, role = '', label = '', states = '', ref = '', said = '']) => ({
        ...{ role, states, ref, line: at },
        name: label === '' ? unquoted(said) : unquoted(label),
        text: [said, ...below].join(' '),
      }));
    });
  }

  /** Parts of a role; `name` in any case, as a whole or an expression. */
  all(role: RegExp, name: RegExp | string = /./s): Part[] {
    const fits = (part: Part) =>
      typeof name === 'string'
        ? [part.name, part.text].some(each => each.trim().toLowerCase() === name.toLowerCase())
        : name.test(`${part.name} ${part.text}`);
    return this.parts().filter(part => role.test(part.role) && fits(part));
  }

  async act(part: Part | undefined, name: string, args: Record<string, unknown> = {}): Promise<void> {
    if (part === undefined) throw new Error('no such element in the snapshot');
    await this.call(name, { target: part.ref, ...args });
    await this.look();
  }

  click(part: Part | undefined): Promise<void> {
    return this.act(part, 'browser_click');
  }

  type(part: Part | undefined, text: string): Promise<void> {
    return this.act(part, 'browser_type', { text });
  }

  async press(key: string, times = 1): Promise<void> {
    for (let n = 0; n < times; n += 1) await this.call('browser_press_key', { key });
    await this.look();
  }

  /** Looks until there is such an element: menus and lists come a moment later. */
  async lookFor(role: RegExp, name: RegExp | string): Promise<Part | undefined> {
    for (let looks = 0; looks < LOOKS_MAX && this.all(role, name).length === 0; looks += 1) await this.look();
    return this.all(role, name)[0];
  }

  async drag(from: Part | undefined, to: Part | undefined, args: Record<string, unknown> = {}): Promise<void> {
    if (from === undefined || to === undefined) throw new Error('no such element in the snapshot');
    await this.call('browser_drag', { startTarget: from.ref, endTarget: to.ref, ...args });
    await this.look();
  }

  submit(name = /^(?:Submit|Search|Login|OK)\b/i): Promise<void> {
    return this.click(this.all(/button/, name)[0] ?? this.all(/generic/, name)[0]);
  }
}
