/** Something that may be waited for again and again. Made before what waits for it and what wakes it. */
export class Wake {
  #next = Promise.withResolvers<void>();

  /** Resolves at the next `kick`. Take it before looking, or a kick during the look is missed. */
  get next(): Promise<void> {
    return this.#next.promise;
  }

  /** Wakes everything that waits now. */
  readonly kick = (): void => {
    const { resolve } = this.#next;
    this.#next = Promise.withResolvers();
    resolve();
  };
}
