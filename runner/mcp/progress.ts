import type { Clock } from '../../time/clock.ts';

/** A call that is answered sooner is not spoken of. */
const FIRST_MS = 1_000;
/** Below the time limit of any client known: openai-agents gives a call 5 seconds. */
const EVERY_MS = 4_000;

export interface ProgressOptions {
  readonly tool: string;
  readonly clock: Clock;
  /** Reports to the client how many seconds the call has run. */
  readonly notify: (seconds: number, message: string) => Promise<void>;
}

/** Notifies a client that its call still runs, until the signal aborts. Never rejects. */
export async function reportProgress({ tool, clock, notify }: ProgressOptions, signal: AbortSignal): Promise<void> {
  const startMs = clock.nowMs();
  try {
    for (let waitMs = FIRST_MS; ; waitMs = EVERY_MS) {
      await clock.sleep(waitMs, signal);
      const seconds = Math.round((clock.nowMs() - startMs) / 1_000);
      await notify(seconds, `${tool} has run for ${seconds} s`);
    }
  } catch {
    // The call has ended, or its client is gone.
  }
}
