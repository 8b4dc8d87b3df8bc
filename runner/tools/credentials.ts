import { setTimeout as delay } from 'node:timers/promises';
import type { ElementHandle, Frame, Page } from 'playwright-core';
import { secretNames } from '../../contract/secrets.ts';
import type { LoginOrigins, Site, SiteFound } from './login-origins.ts';
import { fieldKind, holdsText, putSecret } from './secret-field.ts';
import { pinned } from './target.ts';

export interface Refusal {
  readonly code: 'origin_refused' | 'field_not_found' | 'field_refused' | 'no_credential' | 'page_changed';
  readonly message: string;
}

export type SecretKind = 'username' | 'password' | 'code';

/** The credentials of one lease: their names are for agents, their values for fields of their own sites. */
export interface Credentials {
  readonly names: readonly string[];
  isName(text: string): boolean;
  /** The credential of the page that is shown. */
  siteFor(page: Page, wanted: string | undefined): SiteFound;
  /** Puts the value behind a name into a field; resolves with a refusal, and then nothing was typed. */
  fill(page: Page, target: string, name: string, signal: AbortSignal): Promise<Refusal | undefined>;
  /** The name of a site's secret. */
  nameOf(site: Site, kind: SecretKind): string;
  /** Whether a field of some tab holds a value of one of these kinds at this moment. */
  exposed(...kinds: SecretKind[]): Promise<boolean>;
}

export interface CredentialsOptions {
  readonly secrets: Readonly<Record<string, string>>;
  readonly sites: readonly Site[];
  readonly origins: LoginOrigins;
  /** The current TOTP code; rejects when there is none. */
  readonly code: (site: string, signal: AbortSignal) => Promise<string>;
  /** Runs work that no frame of the recording shows. */
  readonly withoutRecording: <T>(work: () => Promise<T>) => Promise<T>;
}

interface Secret {
  readonly site: Site;
  readonly kind: SecretKind;
}

const CODE_SUFFIX = /_USERNAME$/;

export function credentials({ secrets, sites, origins, code, withoutRecording }: CredentialsOptions): Credentials {
  const byName = new Map<string, Secret>();
  const nameOf = ({ site }: Site, kind: SecretKind): string => {
    const [username = '', password = ''] = secretNames(site);
    return { username, password, code: username.replace(CODE_SUFFIX, '_TOTP') }[kind];
  };
  for (const site of sites) {
    byName.set(nameOf(site, 'username'), { site, kind: 'username' });
    byName.set(nameOf(site, 'password'), { site, kind: 'password' });
    if (site.totp) byName.set(nameOf(site, 'code'), { site, kind: 'code' });
  }
  const filled = new Map<ElementHandle, SecretKind>();

  /**
   * The target's frame and every frame around it must be of an allowed origin: so none can be framed by a stranger.
   */
  function refusedFrames(site: string, frame: Frame | null): Refusal | undefined {
    if (frame === null || frame.isDetached()) return PAGE_CHANGED;
    for (let each: Frame | null = frame; each !== null; each = each.parentFrame()) {
      const { allowed, reason } = origins.decide(site, originOf(each.url()));
      if (!allowed) return { code: 'origin_refused', message: `Nothing was typed: ${reason}.` };
    }
    return undefined;
  }

  async function put(field: ElementHandle, { site, kind }: Secret, name: string, signal: AbortSignal) {
    const frame = await field.ownerFrame();
    const refused = refusedFrames(site.site, frame) ?? (await unfit(field, kind));
    if (refused !== undefined) return refused;
    const value = kind === 'code' ? await code(site.site, signal).catch(() => undefined) : secrets[name];
    if (value === undefined) return { code: 'no_credential', message: `There is no value for ${name} now.` } as const;
    return withoutRecording(async () => {
      // Once more, right before typing. From here on the field's own document is held: if it goes, so does the call.
      const now = signal.aborted ? PAGE_CHANGED : refusedFrames(site.site, frame);
      if (now !== undefined) return now;
      filled.set(field, kind);
      const taken = await field.evaluate(putSecret, value);
      return taken ? undefined : ({ code: 'field_refused', message: 'The field did not take the value.' } as const);
    });
  }

  return {
    names: [...byName.keys()],
    isName: text => byName.has(text),
    nameOf,
    siteFor: (page, wanted) => origins.siteFor(originOf(page.url()), wanted),
    async fill(page, target, name, signal) {
      const secret = byName.get(name);
      if (secret === undefined) return { code: 'no_credential', message: `There is no secret named ${name}.` };
      // Before anything else of the page is looked at.
      const refused = refusedFrames(secret.site.site, page.mainFrame());
      if (refused !== undefined) return refused;
      const field = await pinned(page, target);
      if (field === undefined)
        return { code: 'field_not_found', message: `"${target}" does not name exactly one element of the page.` };
      try {
        return await put(field, secret, name, signal);
      } catch {
        // Its message may hold what was to be typed.
        return PAGE_CHANGED;
      }
    },
    async exposed(...kinds) {
      const wanted = [...filled].filter(([, kind]) => kinds.includes(kind));
      const held = await Promise.all(
        wanted.map(async ([field]) => {
          // A page that does not answer is taken to hold it.
          const unknown = delay(ANSWER_MS, true, { ref: false });
          const holds = await Promise.race([field.evaluate(holdsText).catch(() => false), unknown]);
          if (!holds) filled.delete(field);
          return holds;
        }),
      );
      return held.includes(true);
    },
  };
}

const ANSWER_MS = 1_000;

const PAGE_CHANGED: Refusal = {
  code: 'page_changed',
  message: 'The page changed while it was being filled. Look at it again, then decide.',
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

async function unfit(field: ElementHandle, kind: SecretKind): Promise<Refusal | undefined> {
  const { tag, type } = await field.evaluate(fieldKind);
  if (tag !== 'input' || !TEXT_TYPES[kind].includes(type))
    return {
      code: 'field_refused',
      message: `A ${kind} goes into an input of type ${TEXT_TYPES[kind].join(', ')} only; this is <${tag} type="${type}">.`,
    };
  if ((await field.isVisible()) && (await field.isEditable())) return undefined;
  return { code: 'field_refused', message: 'The field is hidden, disabled or read-only.' };
}
