import { encodedForms, piecewise, redactPieces } from './redact-disguised.ts';

/** Takes the secrets of one lease out of a text. */
export type Redact = (text: string) => string;

/** The forms in which a value turns up in results: as it is, inside JSON, in a URL, in a form's body. */
const formsOf = (value: string): string[] => [
  value,
  JSON.stringify(value).slice(1, -1),
  encodeURIComponent(value),
  new URLSearchParams({ v: value }).toString().slice(2),
  value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;'),
];

/**
 * Replaces every secret of the lease by `<secret>NAME</secret>`, longer ones first, so that a secret inside another
 * does not leave the rest of it behind; encoded ones and ones in pieces too, as far as a text can be searched for
 * them.
 */
export function redactor(secrets: Record<string, string>): Redact {
  const entries = Object.entries(secrets);
  const names = new Map(
    entries.flatMap(([name, value]) => [...formsOf(value), ...encodedForms(value)].map(form => [form, name])),
  );
  if (names.size === 0) return text => text;
  const longestFirst = [...names.keys()].sort((a, b) => b.length - a.length);
  const pattern = new RegExp(longestFirst.map(form => form.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')).join('|'), 'g');
  const pieces = entries.map(([name, value]) => piecewise(name, value)).filter(found => found !== undefined);
  return text =>
    redactPieces(
      text.replace(pattern, form => `<secret>${names.get(form)}</secret>`),
      pieces,
    );
}

/** Longest string that an event keeps. */
const STRING_CHARACTERS_MAX = 2_048;
const ARRAY_LENGTH_MAX = 50;

/** A JSON value as an event keeps it: strings redacted, then cut; long arrays cut. */
export function redactJson(value: unknown, redact: Redact): JsonValue {
  if (typeof value === 'string') return cut(redact(value));
  if (Array.isArray(value)) return value.slice(0, ARRAY_LENGTH_MAX).map(item => redactJson(item, redact));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value)
        .slice(0, ARRAY_LENGTH_MAX)
        .map(([key, item]) => [cut(redact(key)), redactJson(item, redact)]),
    );
  return typeof value === 'number' || typeof value === 'boolean' ? value : null;
}

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

const cut = (text: string): string =>
  text.length > STRING_CHARACTERS_MAX ? `${text.slice(0, STRING_CHARACTERS_MAX)}...` : text;
