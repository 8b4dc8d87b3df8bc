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
    /** The first element that the selector leads to. */
    query(target: {
      readonly selector: string;
      readonly strict: boolean;
    }): Promise<PlaywrightElement | null | undefined>;
  };
  /** Playwright's world of the document; null: there is none yet. */
  existingContext(world: 'utility'): PlaywrightContext | null;
  childFrames(): readonly PlaywrightFrame[];
}

interface PlaywrightElement {
  /** The frame whose element it is. */
  _contentFrame(): Promise<PlaywrightFrame | null>;
  dispose(): void;
}

interface PlaywrightContext {
  readonly delegate: { readonly _contextId: number };
}

const method = z.custom<() => unknown>(value => typeof value === 'function');
const connected = z.looseObject({ _connection: z.looseObject({ toImpl: method }) });
const serverFrame = z.looseObject({
  _id: z.string(),
  selectors: z.looseObject({ callOnSelector: method, query: method }),
  existingContext: method,
  childFrames: method,
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

/** Whether the frame has no document yet: whatever is asked of it waits until one comes. */
export const isWithoutDocument = (frame: PlaywrightFrame): boolean => frame.existingContext('utility') == null;
