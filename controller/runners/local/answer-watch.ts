import { type Clock, timeoutSignal } from '../../../time/clock.ts';

export interface AnswerWatchOptions {
  /** Whether a runner answers over HTTP, whatever it says; undefined: it does not listen yet. */
  readonly answers: (runnerId: string, signal: AbortSignal) => Promise<boolean | undefined>;
  readonly clock: Clock;
  /** Called once. */
  readonly onSilent: (runnerId: string, why: string) => void;
}

/** Watches whether runners that are no containers still answer: a kubelet's liveness probe does that for pods. */
export interface AnswerWatch {
  /** Asks a runner from now on; does nothing when it is asked already. */
  watch(runnerId: string): void;
  forget(runnerId: string): void;
}

const ASK_EVERY_MS = 3_000;
const ANSWER_MS = 3_000;
/** Together at most 24 s; one answer that is late is the machine's fault. */
const SILENT_MAX = 4;

export function answerWatch({ answers, clock, onSilent }: AnswerWatchOptions): AnswerWatch {
  const watches = new Map<string, AbortController>();

  async function follow(runnerId: string, signal: AbortSignal): Promise<void> {
    let lastAnswerMs = clock.nowMs();
    for (let silent = 0; silent < SILENT_MAX; ) {
      await clock.sleep(ASK_EVERY_MS, signal, true);
      const answered = await answers(runnerId, AbortSignal.any([signal, timeoutSignal(ANSWER_MS, clock)]));
      silent = answered === false ? silent + 1 : 0;
      if (silent === 0) lastAnswerMs = clock.nowMs();
    }
    const seconds = Math.round((clock.nowMs() - lastAnswerMs) / 1_000);
    if (!signal.aborted) onSilent(runnerId, `it had not answered over HTTP for ${seconds} s, and was killed`);
  }

  return {
    watch(runnerId) {
      if (watches.has(runnerId)) return;
      const watching = new AbortController();
      watches.set(runnerId, watching);
      follow(runnerId, watching.signal).catch(() => undefined); // forgotten
    },
    forget(runnerId) {
      watches.get(runnerId)?.abort();
      watches.delete(runnerId);
    },
  };
}
