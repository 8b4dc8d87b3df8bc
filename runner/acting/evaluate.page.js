// Runs in the page with what the agent's script is there, and with the element of its target: a function is called, of anything else the
// value is taken. Resolves with its JSON; what JSON has no form for is written out, or named: nodes as Playwright names them. Throws a text:
// an error's message with its causes and where in the page it came from, or the value that was thrown.
async (value, element) => {
  const VALUES_MAX = 20_000;
  const FRAMES_MAX = 3;
  const CAUSES_MAX = 5;
  let count = 0;

  const nameOf = each => Object.prototype.toString.call(each).slice('[object '.length, -1);
  const unnamed = (each, name) => each === null || each === undefined || name === 'Object';

  /** Values without properties; undefined: it has some. */
  const simple = each => {
    if (typeof each === 'bigint') return `${each}n`;
    if (typeof each === 'symbol') return `<${String(each)}>`;
    if (typeof each === 'function') return `<function${each.name && ` ${each.name}`}>`;
    if (typeof each === 'number' && !Number.isFinite(each)) return `<${each}>`;
    if (each === window) return 'ref: <Window>';
    if (each === document) return 'ref: <Document>';
    if (each instanceof Node) return 'ref: <Node>';
    if (each instanceof Date) return Number.isNaN(each.getTime()) ? '<Invalid Date>' : each.toISOString();
    if (each instanceof RegExp) return String(each);
    if (each instanceof Error) return `<${each.name}: ${each.message}>`;
    if (each instanceof ArrayBuffer) return `<ArrayBuffer of ${each.byteLength} bytes>`;
    return undefined;
  };

  /** Getters of a browser's own object, which has no properties of its own. */
  const gettersOf = each => {
    const found = {};
    for (
      let from = Object.getPrototypeOf(each);
      from !== null && from !== Object.prototype;
      from = Object.getPrototypeOf(from)
    )
      for (const [key, { get }] of Object.entries(Object.getOwnPropertyDescriptors(from))) {
        if (get === undefined || key in found) continue;
        try {
          const held = get.call(each);
          if (['string', 'number', 'boolean'].includes(typeof held)) found[key] = held;
        } catch {
          // it is not for this object
        }
      }
    return found;
  };

  const listed = each =>
    Array.isArray(each) ||
    ArrayBuffer.isView(each) ||
    [NodeList, HTMLCollection, DOMTokenList, FileList].some(kind => each instanceof kind);
  const paired = each => [Headers, FormData, URLSearchParams].some(kind => each instanceof kind);

  const written = (each, above) => {
    count += 1;
    if (count > VALUES_MAX) return '<more>';
    const known = simple(each);
    if (known !== undefined) return known;
    if (typeof each !== 'object' || each === null) return each;
    if (above.includes(each)) return '<circular>';
    const inside = [...above, each];
    const inner = held => (held === undefined ? '<undefined>' : written(held, inside));
    if (each instanceof Map)
      return { [`Map(${each.size})`]: [...each].map(([key, held]) => [inner(key), inner(held)]) };
    if (each instanceof Set) return { [`Set(${each.size})`]: [...each].map(inner) };
    if (listed(each) && !(each instanceof DataView)) return Array.from(each, inner);
    if (paired(each)) return [...each].map(([key, held]) => [key, inner(held)]);
    try {
      if (typeof each.toJSON === 'function') return written(each.toJSON(), inside);
      const own = Object.entries(each);
      const name = nameOf(each);
      if (own.length > 0 || each instanceof Storage || unnamed(Object.getPrototypeOf(each), name))
        return Object.fromEntries(
          own.filter(([, held]) => held !== undefined).map(([key, held]) => [key, inner(held)]),
        );
      const getters = gettersOf(each);
      return Object.keys(getters).length > 0 ? { [`<${name}>`]: getters } : `<${name}>`;
    } catch (error) {
      return `<unreadable: ${error}>`;
    }
  };

  /** The script's own lines are numbered with those of what runs it, and say nothing. */
  const framesOf = ({ stack }) =>
    String(stack)
      .split('\n')
      .filter(line => /^ *at .*:\/\//.test(line))
      .slice(0, FRAMES_MAX)
      .map(line => ` ${line.trim()}`)
      .join('');
  const reasonOf = (thrown, depth = 0) => {
    if (!(thrown instanceof Error)) return typeof thrown === 'string' ? thrown : JSON.stringify(written(thrown, []));
    const { name, message, cause, errors } = thrown;
    const causes = [cause, ...(Array.isArray(errors) ? errors : [])].filter(each => each !== undefined);
    const below = depth < CAUSES_MAX ? causes.map(each => ` (cause: ${reasonOf(each, depth + 1)})`) : [];
    return `${name}${message && `: ${message}`}${below.join('')}${framesOf(thrown)}`;
  };

  let result;
  try {
    result = await (typeof value === 'function' ? value(element) : value);
  } catch (error) {
    throw reasonOf(error) ?? 'undefined';
  }
  // A value alone stands without quotation marks: it is no text.
  if (typeof result === 'bigint') return `${result}n`;
  if (typeof result === 'number' && !Number.isFinite(result)) return String(result);
  if (typeof result === 'function' || typeof result === 'symbol') return simple(result);
  if (result === undefined) return undefined;
  return JSON.stringify(written(result, []), null, 2);
};
