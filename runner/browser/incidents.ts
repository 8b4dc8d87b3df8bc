/** An act of the runner on the browser, to keep it within its limits. */
export interface Incident {
  readonly kind: 'page.closed' | 'download.cancelled';
  /** Address of the page or of the download. */
  readonly url: string;
  readonly why: string;
}

/** Incidents on their way to the agent and to the timeline. */
export interface Incidents {
  add(incident: Incident): void;
  /** Incidents since the last call, for the agent's next result. */
  takeNotes(): string[];
  /** From now on each incident is also passed to this listener, those before too. */
  listen(listener: (incident: Incident) => void): void;
}

/** A page that reopens what was closed must not fill the results or the timeline. */
const NOTES_MAX = 5;
const WAITING_MAX = 100;

const SENTENCES = {
  'page.closed': (where: string, why: string) => `The tab of ${where} was closed: ${why}.`,
  'download.cancelled': (where: string, why: string) => `A download from ${where} was cancelled: ${why}.`,
} as const;

export function incidents(): Incidents {
  const waiting: Incident[] = [];
  const notes: Incident[] = [];
  let notesLeftOut = 0;
  let listener: ((incident: Incident) => void) | undefined;
  return {
    add(given) {
      const incident = { ...given, url: placeOf(given.url) };
      if (notes.length < NOTES_MAX) notes.push(incident);
      else notesLeftOut += 1;
      if (listener !== undefined) listener(incident);
      else if (waiting.length < WAITING_MAX) waiting.push(incident);
    },
    takeNotes() {
      const more = notesLeftOut > 0 ? [`And ${notesLeftOut} more tabs or downloads were stopped.`] : [];
      notesLeftOut = 0;
      return [...notes.splice(0).map(({ kind, url, why }) => SENTENCES[kind](url, why)), ...more];
    },
    listen(given) {
      listener = given;
      for (const incident of waiting.splice(0)) given(incident);
    },
  };
}

/** The site alone: the rest of an address may hold anything, at any length. */
function placeOf(url: string): string {
  const parsed = URL.parse(url);
  if (parsed === null) return 'a page';
  return parsed.origin === 'null' ? parsed.protocol : parsed.origin;
}
