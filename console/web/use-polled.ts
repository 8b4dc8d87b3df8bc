import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

export interface Polled<Value> {
  /** Undefined until the first answer. The last value stays while a later call fails. */
  readonly value: Value | undefined;
  readonly error: string | undefined;
  /** Reads now. */
  readonly refresh: () => void;
}

/**
 * Reads at once, whenever `key` changes, and then every so often while the page is visible. `read` gets the value so far
 * (undefined after a change of `key`), so that a list can grow.
 */
export function usePolled<Value>(
  key: string,
  everyMs: number,
  read: (signal: AbortSignal, known: Value | undefined) => Promise<Value>,
): Polled<Value> {
  const [state, setState] = useState<{ key: string; value?: Value; error?: string }>({ key });
  const [asked, setAsked] = useState(0);
  const latest = useRef(read);
  latest.current = read;
  const known = useRef<{ key: string; value: Value } | undefined>(undefined);

  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const round = async () => {
      if (!document.hidden) {
        try {
          const value = await latest.current(stop.signal, known.current?.key === key ? known.current.value : undefined);
          if (stop.signal.aborted) return;
          known.current = { key, value };
          setState({ key, value });
        } catch (error) {
          if (stop.signal.aborted) return;
          setState(last => ({ ...(last.key === key ? last : { key }), error: messageOf(error) }));
        }
      }
      timer = setTimeout(round, everyMs);
    };
    void round();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [key, everyMs, asked]);

  const refresh = useCallback(() => setAsked(count => count + 1), []);
  const current = state.key === key ? state : undefined;
  return { value: current?.value, error: current?.error, refresh };
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
