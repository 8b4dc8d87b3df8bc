/** One line of `doctor`. */
export interface Check {
  check: string;
  ok: boolean;
  /** What was found; for a problem also what to do. */
  detail: string;
}
