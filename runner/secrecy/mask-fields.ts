import { tryParseJson } from '../../contract/parse-json.ts';
import { exactText } from '../browser/page-text.ts';

/** Before a line of preformatted text. */
const BAR = /^\s*- \| /;
/** A line of an accessibility tree that shows what a field holds, or may repeat it. */
const LINE = /^\s*- (?:(?:'?(?:combobox|searchbox|spinbutton|textbox)\b.*|text): |\| )/;

/**
 * A text in which an accessibility tree shows the credential's name in place of what the filled fields hold: a page may
 * have cut or changed that, so that it is not found by its value. `held`: the texts of the fields, with the names.
 */
export function maskFields(text: string, held: ReadonlyMap<string, string>): string {
  if (held.size === 0) return text;
  const inJson = text.startsWith('{') ? tryParseJson(text) : undefined;
  return inJson === undefined ? maskLines(text, held) : JSON.stringify(inJson, (_key, value) => maskValue(value, held));
}

const maskValue = (value: unknown, held: ReadonlyMap<string, string>): unknown =>
  typeof value === 'string' ? maskLines(value, held) : value;

function maskLines(text: string, held: ReadonlyMap<string, string>): string {
  const spelled = [...held].flatMap(([value, name]) => inYaml(value).map(each => [each, name] as const));
  const masked = text.split('\n').map(line => {
    if (!LINE.test(line)) return line;
    const bar = BAR.exec(line)?.[0];
    const isHeld = (each: string) =>
      line.endsWith(`: ${each}`) || (bar !== undefined && line.slice(bar.length).trim() === each);
    const [ending, name] = spelled.find(([each]) => isHeld(each)) ?? [];
    return ending === undefined ? line : `${line.trimEnd().slice(0, -ending.length)}<secret>${name}</secret>`;
  });
  return masked.join('\n');
}

function inYaml(value: string): string[] {
  const shown = value.replace(/\s+/g, ' ').trim();
  return [shown, JSON.stringify(shown), `'${shown.replaceAll("'", "''")}'`, exactText(value)];
}
