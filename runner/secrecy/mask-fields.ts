/** A line of an accessibility tree that shows what a field holds. */
const LINE = /^\s*- (?:'?(?:combobox|searchbox|spinbutton|textbox)\b.*|text): /;

/**
 * A text in which an accessibility tree shows the credential's name in place of what the filled fields hold: a page may
 * have cut or changed that, so that it is not found by its value. `held`: the texts of the fields, with the names.
 */
export function maskFields(text: string, held: ReadonlyMap<string, string>): string {
  if (held.size === 0) return text;
  const inJson = text.startsWith('{') ? parseJson(text) : undefined;
  return inJson === undefined ? maskLines(text, held) : JSON.stringify(inJson, (_key, value) => maskValue(value, held));
}

const maskValue = (value: unknown, held: ReadonlyMap<string, string>): unknown =>
  typeof value === 'string' ? maskLines(value, held) : value;

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function maskLines(text: string, held: ReadonlyMap<string, string>): string {
  const endings = [...held].flatMap(([value, name]) => inYaml(value).map(ending => [`: ${ending}`, name] as const));
  const masked = text.split('\n').map(line => {
    if (!LINE.test(line)) return line;
    const [ending, name] = endings.find(([each]) => line.endsWith(each)) ?? [];
    return ending === undefined ? line : `${line.slice(0, -ending.length)}: <secret>${name}</secret>`;
  });
  return masked.join('\n');
}

function inYaml(value: string): string[] {
  const shown = value.replace(/\s+/g, ' ').trim();
  return [shown, JSON.stringify(shown), `'${shown.replaceAll("'", "''")}'`];
}
