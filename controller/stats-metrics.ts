import { Counter, Gauge, type Registry } from '@prometheus-io/client';
import { END_REASONS } from '../contract/session.ts';
import type { Stats } from './store/stats.ts';

const RECORDED = ['stored', 'lost'] as const;
/** Kinds of events, without `session.`. */
const HIBERNATIONS = ['hibernated', 'restored', 'hibernate_failed', 'restore_failed'] as const;

/** The series that the database counts, the same on every replica. The returned function sets them to what it read. */
export function statsMetrics(registry: Registry): (stats: Stats) => void {
  const registers = [registry];
  const gauge = (name: string, help: string) => new Gauge({ name: `omicron_${name}`, help, registers });
  const active = gauge('active_sessions', 'Leases that are ready');
  const starting = gauge('starting_sessions', 'Leases whose browser is starting');
  const hibernated = gauge('hibernated_sessions', 'Sessions that are kept without a runner');
  const runners = new Gauge({ name: 'omicron_runners', help: 'Runners by state', labelNames: ['state'], registers });
  const capacity = gauge('capacity', 'The global cap of runners');
  const waiting = gauge('waiting_callers', 'Callers that wait for a place');

  const total = (name: string, help: string, label: string, values: readonly string[]) => {
    const counter = new Counter({
      name: `omicron_${name}_total`,
      help: `${help}; the total of the deployment, the same on every replica`,
      labelNames: [label],
      registers,
    });
    return (counted: Readonly<Record<string, number>>) => {
      counter.reset(); // since the database counts, not this process
      // Zeros too: a rate needs the value before the first one.
      for (const value of values) counter.inc({ [label]: value }, counted[value] ?? 0);
    };
  };
  const setEnded = total('sessions_ended', 'Leases that ended, by reason', 'reason', END_REASONS);
  const setRecordings = total('recordings', 'Recordings that were stored or lost', 'state', RECORDED);
  const setFreezes = total('browser_freezes', 'Browsers that were frozen when idle, and thawed', 'change', [
    'frozen',
    'thawed',
  ]);
  const setHibernations = total(
    'hibernations',
    'Sessions that were hibernated and restored, or could not be',
    'change',
    HIBERNATIONS,
  );

  return stats => {
    active.set(stats.active);
    starting.set(stats.starting);
    hibernated.set(stats.hibernated);
    capacity.set(stats.capacity);
    waiting.set(stats.waiting);
    for (const [state, count] of Object.entries(stats.runners)) runners.set({ state }, count);
    setEnded(stats.ended);
    setFreezes(stats.freezes);
    setHibernations(stats.hibernations);
    setRecordings(stats.recordings);
  };
}
