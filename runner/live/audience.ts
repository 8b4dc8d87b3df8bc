import type { LiveTab, ServerMessage } from '../../contract/live.ts';
import { LIVE_CLOSE } from '../../contract/live-limits.ts';
import { encodePicture } from '../../contract/live-picture.ts';
import type { Picture } from '../capture/picture.ts';
import type { Viewer } from './viewer.ts';

export const LEASE_ENDED = 'the lease has ended';

/** The greeted viewers of a lease, who all see the same. */
export class Audience {
  readonly #viewers = new Map<string, Viewer>();
  readonly #listTabs: () => Promise<LiveTab[]>;
  /** The last picture, as it was sent; for viewers that come later. */
  #newest: { readonly tab: number; readonly bytes: Uint8Array } | undefined;
  #seq = 0;
  #tabsSent = '';
  #telling: Promise<void> | undefined;

  constructor(listTabs: () => Promise<LiveTab[]>) {
    this.#listTabs = listTabs;
  }

  isEmpty(): boolean {
    return this.#viewers.size === 0;
  }

  /** `tab`: the one that is shown. */
  add(viewer: Viewer, tab: number): void {
    this.#viewers.set(viewer.id, viewer);
    this.#tabsSent = ''; // this viewer was sent another list than the others, who may be gone
    if (this.#newest?.tab === tab) viewer.show(this.#newest.bytes);
  }

  remove(id: string): void {
    this.#viewers.delete(id);
    if (this.isEmpty()) this.#newest = undefined;
  }

  say(message: ServerMessage): void {
    for (const viewer of this.#viewers.values()) viewer.say(message);
  }

  show(picture: Picture, tab: number): void {
    this.#seq = (this.#seq + 1) % 2 ** 32;
    const bytes = encodePicture({ ...picture, tab, seq: this.#seq });
    this.#newest = { tab, bytes };
    for (const viewer of this.#viewers.values()) viewer.show(bytes);
  }

  ping(): void {
    for (const viewer of this.#viewers.values()) viewer.ping();
  }

  close(): void {
    for (const viewer of this.#viewers.values()) viewer.close(LIVE_CLOSE.leaseEnded, LEASE_ENDED);
  }

  /** Sends which tabs there are, if that has changed. Changes that come while one is sent are sent together after it. */
  async tellTabs(): Promise<void> {
    if (this.isEmpty()) return;
    if (this.#telling !== undefined) {
      await this.#telling;
      if (this.#telling !== undefined) return;
    }
    this.#telling = this.#sendTabs().finally(() => {
      this.#telling = undefined;
    });
    await this.#telling;
  }

  async #sendTabs(): Promise<void> {
    const tabs = await this.#listTabs();
    const text = JSON.stringify(tabs);
    if (text === this.#tabsSent) return;
    this.#tabsSent = text;
    this.say({ t: 'tabs', tabs });
  }
}
