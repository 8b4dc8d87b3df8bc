import type { ElementHandle, Frame, Page } from 'playwright-core';
import { secretNames } from '../../contract/secrets.ts';
import type { Refusal } from '../../contract/tool-failure.ts';
import { loadedAnew } from '../acting/fresh-document.ts';
import type { HttpLogin } from '../acting/http-login.ts';
import { pinTarget, type Target } from '../acting/target.ts';
import type { BeforeFill } from '../secrecy/before-fill.ts';
import type { Documents } from '../secrecy/documents.ts';
import type { FilledFields } from '../secrecy/filled-fields.ts';
import type { SecretKind } from '../secrecy/held.ts';
import type { Pictures } from '../secrecy/pictures.ts';
import { fieldKind, putFieldText } from '../secrecy/secret-field.ts';
import { type LoginOrigins, type Site, type SiteFound, siteDomain } from './login-origins.ts';
import type { SiteQuestions } from './site-questions.ts';

/** Why a credential was not filled in, and what to do instead. */
export type FillRefusal = Refusal<keyof typeof INSTEAD>;

const INSTEAD = {
  origin_refused: 'Fill it in on a page of its own site.',
  field_not_found: 'Take a snapshot and name the field by its ref.',
  field_refused: 'Name another field; a snapshot shows them.',
  no_credential: 'Ask the person with browser_request_user_action.',
  person_asked: 'Call again with the same arguments for the answer; only the person can give it.',
  page_changed: 'Look at the page again, then decide.',
  scripted_document: 'Reload the page (browser_navigate to its address) and fill it before you run scripts.',
} as const;

const refusal = (code: keyof typeof INSTEAD, why: string): FillRefusal => ({ code, why, instead: INSTEAD[code] });

/** The credentials of one lease: their names are for agents, their values for fields of their own sites. */
export interface Credentials {
  /** Names of those that are filled somewhere. */
  readonly names: readonly string[];
  isName(text: string): boolean;
  /** A refusal for a text that is formed as a name, and is none of this lease; undefined: the text is typed as it is. */
  refuseUnknown(text: string): Refusal<'credential_unknown'> | undefined;
  /**
   * Asks the person about a credential of which nothing says where it may be used: the one that is wanted, else the one that is
   * called as the page's site is. Undefined: there is none, or it may be used here.
   */
  askFor(page: Page, wanted: string | undefined, signal: AbortSignal): Promise<FillRefusal | undefined>;
  /** The credential of the page that is shown. */
  siteFor(page: Page, wanted: string | undefined): SiteFound;
  /**
   * Before these targets are filled: a page in which a script of the agent's ran is loaded again where that loses nothing,
   * and refused elsewhere. The names of pages are learned.
   */
  refresh(page: Page, targets: readonly string[]): Promise<FillRefusal | undefined>;
  /** Puts the value behind a name into a field; resolves with a refusal, and then nothing was typed. */
  fill(page: Page, target: Target, name: string, signal: AbortSignal): Promise<FillRefusal | undefined>;
  /** The name of a site's secret. */
  nameOf(site: Site, kind: SecretKind): string;
  /** The names of the stored username and password that may be used at an address; undefined: none may, or several. */
  namesFor(url: string): readonly [username: string, password: string] | undefined;
  /** The values behind names that stand as the username and the password of an address; undefined: they are no names. */
  httpLogin(url: string, signal: AbortSignal): Promise<HttpLogin | FillRefusal | undefined>;
  /** Whether no field of the lease may hold a credential. */
  noneFilled(): boolean;
  /** Whether a credential is in the field, or was. */
  isFilled(page: Page, target: Target): Promise<boolean>;
  /**
   * Replaces what a field holds by a text of the agent's, where it holds a secret: by an edit, the value could be brought
   * back. `not_secret`: it holds none, and nothing was done.
   */
  replace(page: Page, target: Target, text: string): Promise<'replaced' | 'not_secret' | FillRefusal>;
}

export interface CredentialsOptions {
  readonly secrets: Readonly<Record<string, string>>;
  readonly sites: readonly Site[];
  readonly origins: LoginOrigins;
  readonly questions: SiteQuestions;
  /** Called with the name of each value before a page, or the browser for its site, is given it. */
  readonly onGiven: (name: string) => void;
  /** The current TOTP code; rejects when there is none. */
  readonly code: (site: string, signal: AbortSignal) => Promise<string>;
  /** Runs work that no frame of the recording shows. */
  readonly withoutPictures: <T>(work: () => Promise<T>) => Promise<T>;
  /** Receives each value before it goes into the page. */
  readonly pictures: Pick<Pictures, 'filled'>;
  readonly documents: Documents;
  readonly fields: FilledFields;
  readonly before: Pick<BeforeFill, 'learn'>;
}

interface Secret {
  readonly site: Site;
  readonly kind: SecretKind;
}

/** As `secretNames` forms them. */
const NAME_FORM = /^[A-Z0-9][A-Z0-9_]*_(?:USERNAME|PASSWORD|TOTP)$/;
const CODE_SUFFIX = /_USERNAME$/;

/** The name of a site's secret of this kind. */
function nameOf({ site }: Site, kind: SecretKind): string {
  const [username = '', password = ''] = secretNames(site);
  return { username, password, code: username.replace(CODE_SUFFIX, '_TOTP') }[kind];
}

function secretsByName(sites: readonly Site[]): ReadonlyMap<string, Secret> {
  const byName = new Map<string, Secret>();
  for (const site of sites) {
    byName.set(nameOf(site, 'username'), { site, kind: 'username' });
    byName.set(nameOf(site, 'password'), { site, kind: 'password' });
    if (site.totp) byName.set(nameOf(site, 'code'), { site, kind: 'code' });
  }
  return byName;
}

export function credentials({
  secrets,
  sites,
  origins,
  questions,
  onGiven,
  code,
  withoutPictures,
  pictures,
  documents,
  fields,
  before,
}: CredentialsOptions): Credentials {
  const byName = secretsByName(sites);

  async function put(field: ElementHandle, { site, kind }: Secret, name: string, signal: AbortSignal) {
    const frame = await field.ownerFrame();
    const refused = refusedFrames(origins, site, frame) ?? (await unfit(field, kind));
    if (refused !== undefined) return refused;
    if (frame === null || (await documents.isScripted(frame))) return SCRIPTED;
    const value = kind === 'code' ? await code(site.site, signal).catch(() => undefined) : secrets[name];
    if (value === undefined) return refusal('no_credential', `There is no value for ${name} now.`);
    return withoutPictures(async () => {
      onGiven(name);
      await pictures.filled(frame, value, kind, () => fields.textOf(field));
      // Once more, right before typing. From here on the field's own document is held: if it goes, so does the call.
      const now = signal.aborted ? PAGE_CHANGED : refusedFrames(origins, site, frame);
      if (now !== undefined) return now;
      fields.add(field, { name, secret: kind !== 'username' });
      if (kind !== 'username') documents.filled(frame);
      const taken = await field.evaluate(putFieldText, { text: value, secret: true });
      return taken ? undefined : refusal('field_refused', 'The field did not take the value.');
    });
  }

  const { ask, askFor } = personQuestions(sites, origins, questions);
  const noneFilled = (): boolean => fields.isEmpty() && !documents.isGuarding();

  return {
    names: [...byName].flatMap(([name, { site }]) => (origins.isFilledSomewhere(site) ? [name] : [])),
    isName: text => byName.has(text),
    refuseUnknown: text => (NAME_FORM.test(text) && !byName.has(text) ? unknownName(text) : undefined),
    nameOf,
    askFor,
    siteFor: (page, wanted) => origins.siteFor(originOf(page.url()), wanted),
    namesFor(url) {
      const found = origins.siteFor(originOf(url), undefined);
      return found.found ? [nameOf(found.site, 'username'), nameOf(found.site, 'password')] : undefined;
    },
    async httpLogin(url, signal) {
      const named = byName.get(URL.parse(url)?.username ?? '');
      const refused = named && (await ask(named.site, url, signal));
      return refused ?? httpLogin(url, byName, { secrets, origins, onGiven });
    },
    async refresh(page, targets) {
      if (!(await loadedAnew(page, documents, targets))) return SCRIPTED;
      await before.learn();
      return undefined;
    },
    async fill(page, target, name, signal) {
      const secret = byName.get(name);
      if (secret === undefined) return refusal('no_credential', `There is no secret named ${name}.`);
      // Before anything else of the page is looked at.
      const refused =
        (await ask(secret.site, page.url(), signal)) ?? refusedFrames(origins, secret.site, page.mainFrame());
      if (refused !== undefined) return refused;
      const field = await pinTarget(page, target);
      if (field === undefined)
        return refusal('field_not_found', `${named(target)} does not name exactly one element of the page.`);
      try {
        return await put(field, secret, name, signal);
      } catch {
        // Its message may hold what was to be typed.
        return PAGE_CHANGED;
      }
    },
    noneFilled,
    async isFilled(page, target) {
      const field = await pinTarget(page, target);
      return field !== undefined && (await fields.holds(field));
    },
    async replace(page, target, text) {
      if (noneFilled()) return 'not_secret';
      const field = await pinTarget(page, target);
      // The tool itself says that the field is not there.
      if (field === undefined) return 'not_secret';
      const holds = await fields.holds(field);
      await fields.replaced(field, text);
      if (!holds) return 'not_secret';
      const { tag } = await field.evaluate(fieldKind);
      if (tag !== 'input') return NOT_EDITED;
      await field.evaluate(putFieldText, { text, secret: false });
      return 'replaced';
    },
  };
}

/**
 * The target's frame and every frame around it must be of an allowed origin: so none can be framed by a stranger.
 */
function refusedFrames(origins: LoginOrigins, site: Site, frame: Frame | null): FillRefusal | undefined {
  if (frame === null || frame.isDetached()) return PAGE_CHANGED;
  for (let each: Frame | null = frame; each !== null; each = each.parentFrame()) {
    const { allowed, reason } = origins.decide(site, originOf(each.url()));
    if (!allowed) return refusal('origin_refused', `Nothing was typed: ${reason}.`);
  }
  return undefined;
}

/** Questions to the person about credentials of which nothing says where they may be used. */
function personQuestions(sites: readonly Site[], origins: LoginOrigins, questions: SiteQuestions) {
  /** Undefined: it may be used at this address, or the person is not asked about it. */
  async function ask(site: Site, url: string, signal: AbortSignal): Promise<FillRefusal | undefined> {
    const origin = originOf(url);
    if (!origins.mayAsk(site, origin)) return undefined;
    const answer = await questions.ask(site.site, origin, signal);
    if (answer === 'allowed') return undefined;
    const about = `use the credential "${site.site}" at ${new URL(origin).host}`;
    if (answer === 'declined') return refusal('origin_refused', `Nothing was typed: the person declined to ${about}.`);
    if (answer === 'failed')
      return refusal('no_credential', `Nothing was typed: no person could be asked to ${about}.`);
    return refusal('person_asked', `Nothing was typed yet: a person is asked whether to ${about}.`);
  }
  return {
    ask,
    askFor(page: Page, wanted: string | undefined, signal: AbortSignal): Promise<FillRefusal | undefined> {
      const label = siteDomain(page.url()).split('.')[0];
      const found = sites.find(({ site }) => (wanted === undefined ? site.toLowerCase() === label : site === wanted));
      return found === undefined ? Promise.resolve(undefined) : ask(found, page.url(), signal);
    },
  };
}

function httpLogin(
  url: string,
  byName: ReadonlyMap<string, Secret>,
  { secrets, origins, onGiven }: Pick<CredentialsOptions, 'secrets' | 'origins' | 'onGiven'>,
): HttpLogin | FillRefusal | undefined {
  const address = URL.parse(url);
  if (address === null) return undefined;
  const { username: user, password: word } = address;
  const [username, password] = [byName.get(user), byName.get(word)];
  if (username === undefined && password === undefined) return undefined;
  if (username?.kind !== 'username' || password?.kind !== 'password' || username.site !== password.site)
    return refusal(
      'no_credential',
      'The username and the password of the address are not the names of one credential.',
    );
  const { allowed, reason } = origins.decide(username.site, originOf(url));
  if (!allowed) return refusal('origin_refused', `The site was not opened: ${reason}.`);
  const values = { username: secrets[user], password: secrets[word] };
  if (values.username === undefined || values.password === undefined)
    return refusal('no_credential', `There is no value for ${user} and ${word} now.`);
  onGiven(user);
  onGiven(word);
  return { origin: address.origin, username: values.username, password: values.password };
}

const unknownName = (name: string): Refusal<'credential_unknown'> => ({
  code: 'credential_unknown',
  why: `There is no credential named ${name}; nothing was typed.`,
  instead: 'Use a name of the instructions, or ask the person with browser_request_user_action.',
});

const PAGE_CHANGED = refusal('page_changed', 'The page changed while it was being filled.');

const named = (target: Target): string => (typeof target === 'string' ? `"${target}"` : 'The target');

const SCRIPTED = refusal(
  'scripted_document',
  'Nothing was filled in: a script of yours ran in this page, and could read it.',
);

const NOT_EDITED: FillRefusal = {
  code: 'field_refused',
  why: 'This element shows a credential and cannot be edited.',
  instead: 'Reload the page or leave it.',
};

/**
 * As the browser reports it; frames that borrow an origin (about:blank, srcdoc, blob) have none here, and are
 * refused.
 */
const originOf = (url: string): string => (/^https?:/i.test(url) ? (URL.parse(url)?.origin ?? 'null') : 'null');

const TEXT_TYPES: Record<SecretKind, readonly string[]> = {
  username: ['text', 'email', 'tel', 'search', 'url', 'number', 'password'],
  // Anything else would show it.
  password: ['password'],
  code: ['text', 'tel', 'number', 'password', 'search'],
};

async function unfit(field: ElementHandle, kind: SecretKind): Promise<FillRefusal | undefined> {
  const { tag, type } = await field.evaluate(fieldKind);
  if (tag !== 'input' || !TEXT_TYPES[kind].includes(type))
    return refusal(
      'field_refused',
      `A ${kind} goes into an input of type ${TEXT_TYPES[kind].join(', ')} only; this is <${tag} type="${type}">.`,
    );
  if ((await field.isVisible()) && (await field.isEditable())) return undefined;
  return refusal('field_refused', 'The field is hidden, disabled or read-only.');
}
