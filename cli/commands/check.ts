/** One line of `doctor`. */
export interface DoctorCheck {
  check: string;
  ok: boolean;
  /** What was found; for a problem also what to do. */
  detail: string;
}
