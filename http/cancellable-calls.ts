import * as z from 'zod';

/** How MCP clients of 2025-11-25 and older cancel: by a message that names the call by the id of its request. */
export const cancellation = z.looseObject({
  method: z.literal('notifications/cancelled'),
  params: z.looseObject({ requestId: z.union([z.string(), z.number()]) }),
});
export type Cancellation = z.infer<typeof cancellation>;

/** The calls that this process runs, for the clients that cancel them. */
export class CancellableCalls {
  readonly #byName = new Map<string, AbortController>();

  /** Runs a call; `cancelling` aborts when its client cancels it. Rejects as the call does. */
  async run<T>(client: string, id: string | number, call: (cancelling: AbortController) => Promise<T>): Promise<T> {
    const name = nameOf(client, id);
    const cancelling = new AbortController();
    this.#byName.set(name, cancelling);
    try {
      return await call(cancelling);
    } finally {
      if (this.#byName.get(name) === cancelling) this.#byName.delete(name);
    }
  }

  cancel(client: string, { params }: Cancellation): void {
    this.#byName.get(nameOf(client, params.requestId))?.abort();
  }
}

/** Of the ids 1 and "1" each is its own. */
const nameOf = (client: string, id: string | number): string => JSON.stringify([client, id]);
