/**
 * Before Playwright looks for an element it evaluates one script of 330 kB in the document, and sends it over the pipe again
 * for each document. Here Chromium keeps it: each new document defines it in Playwright's own world, and a line that calls
 * it is sent instead. A document that does not define it (one from before, or whose world was made late) gets
 * the script. Source of the messages: `playwright-core/lib/coreBundle.js`, `injectedScript()`, `rawEvaluateHandle()`
 * and `FrameSession._initialize()`.
 *
 * Refs that the script gives elements begin at a random number in each document.
 */
export interface InjectedScript {
  /** The message that is sent to Chromium instead of one of Playwright's. */
  send(message: string): string;
  /** Whether Playwright may read a message of Chromium; if not, what to send to Chromium, if anything. */
  receive(message: Buffer): { readonly pass: boolean; readonly send?: string };
}

/** In JSON: what stands around the script in the expression that Playwright evaluates. */
const BEFORE = 'const module = {};\\n        ';
const AFTER = '\\n        return new (module.exports.InjectedScript())(globalThis, ';
const IN_UTILITY_WORLD = '\\"isUtilityWorld\\":true';
const EVALUATES = /^\{"id":(\d+),"method":"Runtime\.evaluate","params":\{"expression":"/;
/** Shorter ones are sent as they are. */
const LONG = 100_000;

/** How Playwright asks for its world in each new document. */
const ASKS_FOR_WORLD =
  /^\{"id":\d+,"method":"Page\.addScriptToEvaluateOnNewDocument","params":\{"source":"","worldName":"__playwright_utility_world_[^"\\]+"\},"sessionId":"[^"\\]+"\}$/;

/** No name of an element or a frame reaches a symbol. */
const KEY = "Symbol.for('omicron-browser.injected')";
const MISSING = 'the injected script is not defined here';
const CALLS = `if (!Object.hasOwn(globalThis, ${KEY})) throw '${MISSING}'; module.exports = globalThis[${KEY}]();`;

const ANSWERS = /^\{"id":(\d+),/;
/** A tab that closes meanwhile sends no answer. */
const ASKED_MAX = 10_000;

/** The first id of what is sent here; Playwright counts from 1. */
const OWN_ID = 2 ** 30;

const NOTHING: ReturnType<InjectedScript['receive']> = { pass: false };
const PASS: ReturnType<InjectedScript['receive']> = { pass: true };

export function injectedScript(): InjectedScript {
  /** The script as it stands in a message: in JSON, without the quotes. Unknown until Playwright first sends it. */
  let script: string | undefined;
  /** The messages that asked for a world before that. */
  let early: string[] = [];
  /** By id, what stands around the script in a message whose answer is awaited. */
  const asked = new Map<number, readonly [before: string, after: string]>();

  return {
    send(given) {
      const message = given.length < LONG ? given : withRandomRefs(given);
      if (message.length < 1_000 && ASKS_FOR_WORLD.test(message)) {
        if (script !== undefined) return defineScript(message, script);
        early.push(message);
        return message;
      }
      if (message.length < LONG) return message;
      const id = Number(EVALUATES.exec(message.slice(0, 200))?.[1]);
      const start = message.indexOf(BEFORE) + BEFORE.length;
      const end = message.lastIndexOf(AFTER);
      if (Number.isNaN(id) || start < BEFORE.length || end < start || !message.includes(IN_UTILITY_WORLD, end))
        return message;
      if (script === undefined) {
        const found = message.slice(start, end);
        script = found;
        const again = early.map((each, n) => defineScript(each, found).replace(/"id":\d+/, `"id":${OWN_ID + n}`));
        early = [];
        return [...again, message].join('\0');
      }
      if (end - start !== script.length || !message.startsWith(script, start)) return message;
      const around = [copyText(message.slice(0, start)), copyText(message.slice(end))] as const;
      asked.set(id, around);
      const [oldest = id] = asked.keys();
      if (asked.size > ASKED_MAX) asked.delete(oldest);
      return around.join(CALLS);
    },
    receive(message) {
      const id = Number(ANSWERS.exec(message.toString('latin1', 0, 24))?.[1]);
      if (id >= OWN_ID) return NOTHING;
      const around = asked.get(id);
      if (around === undefined || script === undefined) return PASS;
      asked.delete(id);
      return message.includes(MISSING) ? { pass: false, send: around.join(script) } : PASS;
    },
  };
}

/** Playwright numbers a document's elements from 1, in a variable of the script. */
const REF_COUNTER = 'var lastRef = 0;';
/** Three digits: they take as many tokens as one. */
const RANDOM_REF_COUNTER = 'var lastRef = 99 + crypto.getRandomValues(new Uint32Array(1))[0] % 800;';

/** A frame that says what to click, by ref, does not know the number of any element but its own. */
const withRandomRefs = (message: string): string => message.replace(REF_COUNTER, RANDOM_REF_COUNTER);

/** The message that asks for a world, whose documents define the script. */
const defineScript = (message: string, script: string): string =>
  message.replace(
    '"source":""',
    () =>
      `"source":"Object.defineProperty(globalThis, ${KEY}, { value() { const module = {};\\n${script}\\nreturn module.exports; } });"`,
  );

/** A slice keeps the string that it is of. */
const copyText = (slice: string): string => Buffer.from(slice).toString();
