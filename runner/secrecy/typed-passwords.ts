import type { BrowserContext, ElementHandle, Frame } from 'playwright-core';
import { within } from '../../time/within.ts';
import type { Documents } from './documents.ts';
import type { FilledFields } from './filled-fields.ts';
import type { Pictures } from './pictures.ts';

export interface TypedPasswordsOptions {
  readonly context: BrowserContext;
  readonly fields: FilledFields;
  readonly documents: Documents;
  readonly pictures: Pictures;
  /** Takes it out of results and events from now on. */
  readonly add: (name: string, value: string, kind: 'password') => void;
}

/** The name that results show in its place. */
const NAME = 'TYPED_PASSWORD';
const PASSWORDS = 'input[type=password]';
/** A page that hangs must not keep the browser from the agent; it shows the agent nothing either. */
const LOOK_MS = 1_000;

/**
 * Guards the passwords that fields hold when a person hands the browser back, as those that are filled in: the person typed them, for
 * the site and not for the model. Never rejects.
 */
export function typedPasswords({ context, fields, documents, pictures, add }: TypedPasswordsOptions) {
  async function guardField(frame: Frame, field: ElementHandle): Promise<void> {
    const text = await fields.textOf(field);
    if (text === '' || (await fields.holds(field))) return;
    add(NAME, text, 'password');
    fields.add(field, { name: NAME, secret: true });
    documents.filled(frame);
    await pictures.filled(frame, text, 'password', () => fields.textOf(field));
  }

  async function guardFrame(frame: Frame): Promise<void> {
    for (const field of await frame.$$(PASSWORDS)) await guardField(frame, field).catch(() => undefined);
  }

  return async (): Promise<void> => {
    const frames = context.pages().flatMap(page => page.frames());
    await within(Promise.all(frames.map(frame => guardFrame(frame).catch(() => undefined))), LOOK_MS, []);
  };
}
