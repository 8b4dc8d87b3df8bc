import type { Page, Request } from 'playwright-core';
import * as z from 'zod';

/** One tab as Playwright MCP keeps it: no tool returns this, or not without asking every page for its title. */
export interface UpstreamTab {
  /** Whether its tools act on this tab. */
  isCurrentTab(): boolean;
  /** Dialogs and file choosers that wait to be handled, behind which its tools refuse to act. */
  modalStates(): readonly { readonly type: string }[];
  clearModalState(state: { readonly type: string }): void;
  /** The requests that `browser_network_requests` numbers, from 1. */
  readonly _requests: readonly Request[];
  /** Forgets requests, console and downloads, as its `browser_navigate` does first. */
  _clearCollectedArtifacts(): void;
}

const method = z.custom<() => never>(value => typeof value === 'function');
const upstreamTab = z.looseObject({
  isCurrentTab: method,
  modalStates: method,
  clearModalState: method,
  _requests: z.array(z.unknown()),
  _clearCollectedArtifacts: method,
});

const known = new WeakMap<Page, UpstreamTab>();

/** The tab of a page of the context that Playwright MCP was given: it hangs on the page, in the same pinned bundle. */
export function upstreamTabOf(page: Page): UpstreamTab {
  const found = known.get(page) ?? tabOn(page);
  known.set(page, found);
  return found;
}

function tabOn(page: Page): UpstreamTab {
  const symbol = Object.getOwnPropertySymbols(page).find(({ description }) => description === 'tabSymbol');
  const tab: unknown = symbol === undefined ? undefined : Reflect.get(page, symbol);
  // Only checked: its methods want it as `this`.
  if (!upstreamTab.safeParse(tab).success) throw new Error('Playwright MCP keeps its tabs elsewhere in this version.');
  return tab as UpstreamTab; // checked in the line before
}
