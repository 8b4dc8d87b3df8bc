import * as z from 'zod';

/** How MCP clients of 2025-11-25 and older cancel: by a message that names the call by the id of its request. */
export const cancellation = z.looseObject({
  method: z.literal('notifications/cancelled'),
  params: z.looseObject({ requestId: z.union([z.string(), z.number()]) }),
});
export type Cancellation = z.infer<typeof cancellation>;

/** A message may overtake the call that it cancels, on another connection; this many are kept for this long. */
const EARLY_MAX = 256;
const EARLY_MS = 10_000;

/** The calls that this process runs, for the clients that cancel them. */
export class CancellableCalls {
  readonly #byName = new Map<string, AbortController>();
  /** When messages came that name no running call. */
  readonly #early = new Map<string, number>();

  /** Runs a call; `cancelling` aborts when its client cancels it. Rejects as the call does. */
  async run<T>(client: string, id: string | number, call: (cancelling: AbortController) => Promise<T>): Promise<T> {
    const name = nameOf(client, id);
    const cancelling = new AbortController();
    this.#byName.set(name, cancelling);
    if (performance.now() - (this.#early.get(name) ?? Number.NEGATIVE_INFINITY) < EARLY_MS) cancelling.abort();
    this.#early.delete(name);
    try {
      return await call(cancelling);
    } finally {
      if (this.#byName.get(name) === cancelling) this.#byName.delete(name);
    }
  }

  cancel(client: string, { params }: Cancellation): void {
    const name = nameOf(client, params.requestId);
    const running = this.#byName.get(name);
    if (running) {
      running.abort();
      return;
    }
    this.#early.delete(name);
    this.#early.set(name, performance.now());
    for (const oldest of this.#early.keys()) if (this.#early.size > EARLY_MAX) this.#early.delete(oldest);
  }
}

/** The ids 1 and "1" are different. */
const nameOf = (client: string, id: string | number): string => JSON.stringify([client, id]);
