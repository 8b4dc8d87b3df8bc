import { Counter, type Registry } from '@prometheus-io/client';

let lost = 0;

/** Counts spans that reach no collector, of this program or of those that send theirs by it. */
export function countLostSpans(spans: number): void {
  lost += spans;
}

/** Adds their number to what a scrape reads, under `prefix`. */
export function lostSpansMetric(registry: Registry, prefix: string): void {
  let counted = lost;
  new Counter({
    name: `${prefix}spans_lost_total`,
    help: 'Spans that reached no collector: it is slow, away or refuses, or a lease sent more than its share',
    registers: [registry],
    collect() {
      this.inc(lost - counted);
      counted = lost;
    },
  });
}
