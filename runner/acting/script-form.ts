import { Script } from 'node:vm';

/** A script of an agent's as the page runs it. */
export type ScriptForm =
  /** Its value is the result; a function is called. */
  | { readonly expression: string }
  /** Statements: the value of the last one is the result. */
  | { readonly statements: string }
  /** Nothing that runs; the message is V8's. */
  | { readonly fault: string };

/**
 * Reads a script as a function or an expression, as statements that return, or as statements. It is parsed here, and never run: a script that
 * the page would refuse may otherwise have run in part before it is tried in another form.
 */
export function scriptForm(script: string): ScriptForm {
  const bare = script
    .trim()
    .replace(/^```(?:js|javascript|ts)?\n([\s\S]*?)\n?```$/, '$1')
    .trim();
  const expression = withoutEnd(bare);
  if (faultOf(`(${expression}\n)`) === undefined && expression !== '') return { expression };
  if (faultOf(bare) === undefined) return { statements: bare };
  const body = `async element => {${withReturn(bare)}\n}`;
  const fault = faultOf(`(${body})`);
  return fault === undefined ? { expression: body } : { fault };
}

/** The script without semicolons and blanks at its end: a pattern would look for them from each of a million blanks on. */
function withoutEnd(script: string): string {
  let end = script.length;
  while (end > 0 && /[;\s]/.test(script[end - 1] ?? '')) end -= 1;
  return script.slice(0, end);
}

/** Ends of statements that are tried; a script of more is taken as it is. */
const ENDS_MAX = 200;
/** Characters that are parsed for them: a long script has fewer tries. */
const TRIED_CHARACTERS_MAX = 1_000_000;

/** Statements that await, with the value of the last one as the result; those that return by themselves as they are. */
function withReturn(statements: string): string {
  if (/\breturn\b/.test(statements)) return statements;
  const bare = withoutEnd(statements);
  const isAwaiting = (code: string) => faultOf(`(async () => {${code}\n})`) === undefined;
  const ends = [...bare.matchAll(/[;\n}]/g)].map(({ index }) => index + 1);
  const tries = Math.min(ENDS_MAX, Math.floor(TRIED_CHARACTERS_MAX / (bare.length + 1)));
  for (const end of [...ends.reverse().slice(0, tries), 0]) {
    const [before, last] = [bare.slice(0, end), bare.slice(end)];
    if (last.trim() !== '' && isAwaiting(`(${last}\n)`) && isAwaiting(`${before}\nreturn (${last}\n)`))
      return `${before}\nreturn (${last}\n)`;
  }
  return statements;
}

/** V8's message on code that does not parse; undefined: it does. */
function faultOf(code: string): string | undefined {
  try {
    new Script(code);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
