/** One line of `doctor`. */
export interface DoctorCheck {
  check: string;
  ok: boolean;
  /** The finding; for a problem also what to do. */
  detail: string;
}
