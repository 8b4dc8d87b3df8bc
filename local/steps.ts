/** What was done, as it is done: one line a step, with how long it took. */
export interface Steps {
  /** Runs the work and says so; what it answers in `say` stands behind the name. */
  step<T>(name: string, work: (say: (detail: string) => void) => Promise<T>): Promise<T>;
  readonly done: readonly { name: string; ms: number; detail: string; ok: boolean }[];
}

/** `print` gets each line when its step has ended. */
export function steps(print: (line: string) => void): Steps {
  const done: { name: string; ms: number; detail: string; ok: boolean }[] = [];
  return {
    done,
    async step(name, work) {
      const startMs = performance.now();
      let detail = '';
      let ok = false;
      try {
        const result = await work(text => {
          detail = text;
        });
        ok = true;
        return result;
      } finally {
        const ms = Math.round(performance.now() - startMs);
        done.push({ name, ms, detail, ok });
        print(`${String(ms).padStart(7)} ms  ${ok ? '' : 'FAILED: '}${name}${detail ? `: ${detail}` : ''}`);
      }
    },
  };
}
