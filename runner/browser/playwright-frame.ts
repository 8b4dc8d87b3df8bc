import type { Frame } from 'playwright-core';
import * as z from 'zod';

/** The frame as Playwright's own server has it: both sides of Playwright run in this process, in the same pinned bundle. */
export interface PlaywrightFrame {
  /** As the protocol names it. */
  readonly _id: string;
  readonly selectors: {
    /**
     * Runs a script in Playwright's world of the frame that the selector leads to, with its injected script and the elements that match;
     * null: none does.
     */
    callOnSelector(
      target: { readonly selector: string; readonly strict: boolean },
      script: string,
      argument: unknown,
    ): Promise<{ readonly result: unknown; readonly frame: PlaywrightFrame } | null | undefined>;
  };
  /** Playwright's world of the document, where it is there. */
  existingContext(world: 'utility'): PlaywrightContext | undefined;
}

interface PlaywrightContext {
  readonly delegate: { readonly _contextId: number };
}

const method = z.custom<() => unknown>(value => typeof value === 'function');
const connected = z.looseObject({ _connection: z.looseObject({ toImpl: method }) });
const serverFrame = z.looseObject({
  _id: z.string(),
  selectors: z.looseObject({ callOnSelector: method }),
  existingContext: method,
});

export function playwrightFrame(frame: Frame): PlaywrightFrame {
  const { _connection: connection } = connected.parse(frame);
  const found = (connection as { toImpl(part: object): unknown }).toImpl(frame);
  serverFrame.parse(found); // only checked: its methods want it as `this`
  return found as PlaywrightFrame;
}

/** The number of Playwright's world of the frame's document, as the protocol counts worlds; undefined: there is none yet. */
export const worldOf = (frame: PlaywrightFrame): number | undefined =>
  z.int().optional().parse(frame.existingContext('utility')?.delegate._contextId);
