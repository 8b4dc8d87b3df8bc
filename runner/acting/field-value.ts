/**
 * Values of fields that take one form alone, from what people and models write: `15 March 2026` is a date, `9:30 AM` a
 * time. A text with two readings (03/04/2026) is no value.
 */

const FORMS: Readonly<Record<string, string>> = {
  date: 'a date as 2026-11-24',
  time: 'a time as 14:30',
  'datetime-local': 'a date and a time as 2026-11-24T14:30',
  month: 'a month as 2026-11',
  week: 'a week as 2026-W48',
  number: 'a number as 3.5',
  range: 'a number as 3.5',
  color: 'a colour as #ff8800',
};

/** The form of the values that a field of this type takes, with an example. */
export const formOf = (type: string): string => FORMS[type] ?? 'a text';

/** No value of these forms is longer. Patterns look for them, which take minutes in a long text. */
const FORM_CHARACTERS_MAX = 500;

/** The value that is meant, in the form of the field; undefined: none, or it may be several. */
export function fieldValue(type: string, text: string): string | undefined {
  const wanted = text.trim().replace(/\s+/g, ' ');
  if (wanted === '') return '';
  if (wanted.length > FORM_CHARACTERS_MAX) return Object.hasOwn(FORMS, type) ? undefined : text;
  switch (type) {
    case 'date':
      return dateOf(/^(.+?)(?:T| 00:00)(?:[\d:.]+)?Z?$/.exec(wanted)?.[1] ?? wanted) ?? dateOf(wanted);
    case 'time':
      return timeOf(wanted);
    case 'datetime-local':
      return momentOf(wanted);
    case 'month':
      return monthOf(wanted);
    case 'week':
      return weekOf(wanted);
    case 'color':
      return colourOf(wanted.toLowerCase());
    case 'number':
    case 'range':
      return numberOf(wanted);
    default:
      return text;
  }
}

/** Names that people use; https://drafts.csswg.org/css-color/#named-colors has all. */
const COLOURS = new Map(
  `black 000000, white ffffff, gray 808080, grey 808080, silver c0c0c0, red ff0000, maroon 800000, orange ffa500, yellow ffff00,
olive 808000, lime 00ff00, green 008000, teal 008080, cyan 00ffff, aqua 00ffff, blue 0000ff, navy 000080, purple 800080,
magenta ff00ff, fuchsia ff00ff, pink ffc0cb, brown a52a2a, gold ffd700, indigo 4b0082`
    .split(/,\s/)
    .map(each => each.split(' ') as [string, string]), // as they stand there
);

function colourOf(text: string): string | undefined {
  const digits = /^#?([\da-f]{3}|[\da-f]{6})$/.exec(text)?.[1];
  if (digits !== undefined) return `#${digits.length === 3 ? digits.replace(/./g, '$&$&') : digits}`;
  const parts = /^rgb\(? ?(\d{1,3})(?: ?, ?| )(\d{1,3})(?: ?, ?| )(\d{1,3}) ?\)?$/.exec(text)?.slice(1).map(Number);
  if (parts !== undefined)
    return parts.every(part => part <= 255)
      ? `#${parts.map(part => part.toString(16).padStart(2, '0')).join('')}`
      : undefined;
  const named = COLOURS.get(text);
  return named && `#${named}`;
}

/** A comma alone may stand before thousands or before a fraction; with a point behind it, before thousands. */
function numberOf(text: string): string | undefined {
  const plain = /^[+-]?\d{1,3}(?:,\d{3})+\.\d+$|^[+-]?\d{1,3}(?:,\d{3}){2,}$/.test(text)
    ? text.replaceAll(',', '')
    : text;
  const isNumber = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(plain);
  return isNumber ? plain.replace(/^\+/, '').replace(/\.$/, '') : undefined;
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const MONTH_NAME =
  /^(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?$/i;
const WEEKDAY = /^(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?\.?,? /i;

/** 1 to 12; undefined: no month has this name. */
const monthNamed = (name: string): number | undefined =>
  MONTH_NAME.test(name) ? MONTHS.indexOf(name.slice(0, 3).toLowerCase()) + 1 : undefined;

function dateOf(text: string): string | undefined {
  const named = text
    .replace(WEEKDAY, '')
    .replace(/(\d)(?:st|nd|rd|th)\b/i, '$1')
    .replace(/ of /i, ' ');
  const iso = /^(\d{4})([-/.])(\d{1,2})\2(\d{1,2})$/.exec(named);
  if (iso !== null) return dayOf(Number(iso[1]), Number(iso[3]), Number(iso[4]));
  const compact = /^(\d{4})(\d{2})(\d{2})$/.exec(named);
  if (compact !== null) return dayOf(Number(compact[1]), Number(compact[2]), Number(compact[3]));
  const dayFirst = /^(\d{1,2})[ -]([a-z]+\.?),?[ -](\d{4})$/i.exec(named);
  if (dayFirst !== null) return dayOf(Number(dayFirst[3]), monthNamed(dayFirst[2] ?? ''), Number(dayFirst[1]));
  const monthFirst = /^([a-z]+\.?) (\d{1,2}),? (\d{4})$/i.exec(named);
  if (monthFirst !== null) return dayOf(Number(monthFirst[3]), monthNamed(monthFirst[1] ?? ''), Number(monthFirst[2]));
  const numbers = /^(\d{1,2})([-/.])(\d{1,2})\2(\d{4})$/.exec(named);
  if (numbers === null) return undefined;
  const [first, second, year] = [Number(numbers[1]), Number(numbers[3]), Number(numbers[4])];
  // With dots the day is first wherever dates are written so.
  if (numbers[2] === '.') return dayOf(year, second, first);
  const possible = new Set([dayOf(year, first, second), dayOf(year, second, first)].filter(each => each !== undefined));
  const [only] = possible;
  return possible.size === 1 ? only : undefined;
}

function dayOf(year: number, month: number | undefined, day: number): string | undefined {
  if (month === undefined) return undefined;
  const date = `${pad(year, 4)}-${pad(month)}-${pad(day)}`;
  const parsed = new Date(`${date}T00:00:00Z`);
  // 31 February is a day of March to JavaScript.
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(date) ? date : undefined;
}

function timeOf(text: string): string | undefined {
  const found = /^(\d{1,2})(?:[:.h](\d{2}))?(?::(\d{2}))? ?(?:([ap])\.?m\.?)?$/i.exec(text);
  if (found === null) return undefined;
  const [, hours = '', minutes, seconds, half] = found;
  if (half === undefined && minutes === undefined) return undefined;
  const hour = Number(hours);
  if (half !== undefined && (hour < 1 || hour > 12)) return undefined;
  const in24 = half === undefined ? hour : (hour % 12) + (half.toLowerCase() === 'p' ? 12 : 0);
  if (in24 > 23 || Number(minutes ?? 0) > 59 || Number(seconds ?? 0) > 59) return undefined;
  return `${pad(in24)}:${minutes ?? '00'}${seconds === undefined ? '' : `:${seconds}`}`;
}

function momentOf(text: string): string | undefined {
  const found = /^(.+?)(?:T|,? at |, | )(\d{1,2}(?:[:.h]\d{2}(?::\d{2})?)?(?: ?[ap]\.?m\.?)?)$/i.exec(text);
  const date = dateOf(found?.[1] ?? '');
  const time = timeOf(found?.[2] ?? '');
  return date === undefined || time === undefined ? undefined : `${date}T${time}`;
}

function monthOf(text: string): string | undefined {
  const numbers = /^(\d{4})[-/.](\d{1,2})$/.exec(text);
  const turned = /^(\d{1,2})[-/.](\d{4})$/.exec(text);
  const named = /^([a-z]+\.?),? (\d{4})$/i.exec(text);
  const year = numbers?.[1] ?? turned?.[2] ?? named?.[2];
  const month = named === null ? Number(numbers?.[2] ?? turned?.[1]) : monthNamed(named[1] ?? '');
  return year === undefined ? undefined : dayOf(Number(year), month, 1)?.slice(0, 'yyyy-mm'.length);
}

const WEEKS_MAX = 53;

function weekOf(text: string): string | undefined {
  const iso = /^(\d{4})-?W(\d{1,2})$/i.exec(text);
  const named = /^(?:week |W)(\d{1,2}),? (?:of )?(\d{4})$/i.exec(text);
  const [year, week] = [iso?.[1] ?? named?.[2], Number(iso?.[2] ?? named?.[1])];
  return year === undefined || week < 1 || week > WEEKS_MAX ? undefined : `${year}-W${pad(week)}`;
}

const pad = (value: number, digits = 2): string => String(value).padStart(digits, '0');
