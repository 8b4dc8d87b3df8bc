import type { LeaseKey } from '../contract/lease-key.ts';

/** Lines of one lease in one minute; a page that tries one host after another must not fill its timeline. */
export const DENIALS_PER_MINUTE = 30;
export const MINUTE_MS = 60_000;
/** Leases whose minute is kept; beyond them a denial without a line is only counted. */
const MINUTES_MAX = 10_000;

/** One minute of one lease, from its first denial on. */
interface Minute {
  readonly lease: LeaseKey;
  readonly startedMs: number;
  lines: number;
  /** Denials beyond the lines, the first of them at `sinceMs`. */
  more: number;
  sinceMs: number;
}

/** The denials of an ended minute that got no line of their own. */
interface MoreDenials extends Pick<Minute, 'lease' | 'more' | 'sinceMs'> {
  /** The same for every minute of a lease. */
  readonly key: string;
}

export interface DenialMinutes {
  /** Counts a line of the lease's minute. False: the minute has its lines, or too many leases have minutes. */
  addLine(lease: LeaseKey, nowMs: number): boolean;
  /** Counts denials that get no line of their own. False: they are not counted, since too many leases have minutes. */
  addMore(lease: LeaseKey, count: number, sinceMs: number, nowMs: number): boolean;
  /** Ends every minute that began at `beforeMs` or earlier. */
  end(beforeMs: number): readonly MoreDenials[];
}

/** Gives each lease its lines a minute, and counts the denials beyond them. */
export function denialMinutes(): DenialMinutes {
  const minutes = new Map<string, Minute>();
  const minuteOf = ({ session_id, runner_id, epoch }: LeaseKey, nowMs: number): Minute | undefined => {
    const key = `${runner_id} ${epoch}`;
    const known = minutes.get(key);
    if (known || minutes.size >= MINUTES_MAX) return known;
    const lease = { session_id, runner_id, epoch };
    const minute = { lease, startedMs: nowMs, lines: 0, more: 0, sinceMs: nowMs };
    minutes.set(key, minute);
    return minute;
  };
  return {
    addLine(lease, nowMs) {
      const minute = minuteOf(lease, nowMs);
      if (!minute || minute.lines >= DENIALS_PER_MINUTE) return false;
      minute.lines += 1;
      return true;
    },
    addMore(lease, count, sinceMs, nowMs) {
      const minute = minuteOf(lease, nowMs);
      if (!minute) return false;
      minute.sinceMs = minute.more === 0 ? sinceMs : Math.min(minute.sinceMs, sinceMs);
      minute.more += count;
      return true;
    },
    end(beforeMs) {
      const ended: MoreDenials[] = [];
      for (const [key, { lease, startedMs, more, sinceMs }] of minutes) {
        if (startedMs > beforeMs) break; // they are in the order of their beginnings
        minutes.delete(key);
        if (more > 0) ended.push({ key, lease, more, sinceMs });
      }
      return ended;
    },
  };
}
