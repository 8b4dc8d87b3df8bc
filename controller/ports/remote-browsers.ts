/** A browser of a service elsewhere. */
export interface RemoteBrowser {
  readonly id: string;
  /** Address at which it is driven over CDP. A secret: the address alone opens it. */
  readonly cdpUrl: string;
}

/**
 * Browsers of a service elsewhere, driven by runners of this machine. Throws `runner_start_failed`, with the provider's name and what the
 * service said; none of it names a key or an address that opens a browser.
 */
export interface RemoteBrowsers {
  /** Name of the provider, in the rows of its runners. */
  readonly name: string;
  /** A new browser. One that no runner connects to ends by itself within a minute. */
  create(): Promise<RemoteBrowser>;
  /** Ends it, with all that it holds. Does nothing when it is gone. */
  remove(id: string): Promise<void>;
}
