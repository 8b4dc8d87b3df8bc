/** A log of steps: one line for each, with its duration. */
export interface Steps {
  /** Runs the work and prints its line; `say` adds a detail to it. */
  step<T>(name: string, work: (say: (detail: string) => void) => Promise<T>): Promise<T>;
  readonly done: readonly { name: string; ms: number; detail: string; ok: boolean }[];
}

/** `print` is called when a step has ended. */
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
