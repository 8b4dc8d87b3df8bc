import { type Panel, RATE } from './dashboard.ts';

/** Resources that each replica of a program takes of its machine, from the metrics of its Node process under `prefix`. */
export const processPanels = (prefix: 'omicron_' | 'omicron_egress_' | 'omicron_console_'): readonly Panel[] => [
  {
    title: 'CPU',
    description: 'Cores that each replica uses',
    kind: 'timeseries',
    unit: 'short',
    queries: [
      { expr: `sum by (instance) (rate(${prefix}process_cpu_seconds_total[${RATE}]))`, legend: '{{instance}}' },
    ],
  },
  {
    title: 'Memory',
    description: 'Resident memory and heap of each replica; a container is killed at its limit of resident memory',
    kind: 'timeseries',
    unit: 'bytes',
    queries: [
      { expr: `max by (instance) (${prefix}process_resident_memory_bytes)`, legend: '{{instance}} resident' },
      { expr: `max by (instance) (${prefix}nodejs_heap_size_used_bytes)`, legend: '{{instance}} heap' },
    ],
  },
  {
    title: 'Event loop',
    description: 'The 99th percentile of the time without an answer: heartbeats are late when it nears one second',
    kind: 'timeseries',
    unit: 's',
    queries: [{ expr: `max by (instance) (${prefix}nodejs_eventloop_lag_p99_seconds)`, legend: '{{instance}} p99' }],
  },
  {
    title: 'Spans lost',
    description: 'A second; traces have holes: the collector is slow, away or refuses, or gets more than it takes',
    kind: 'timeseries',
    unit: 'ops',
    queries: [{ expr: `sum by (instance) (rate(${prefix}spans_lost_total[${RATE}]))`, legend: '{{instance}}' }],
  },
  {
    title: 'Open files',
    description: 'Sockets and files of each replica, of those it may open',
    kind: 'timeseries',
    unit: 'percentunit',
    queries: [
      {
        expr: `max by (instance) (${prefix}process_open_fds / ${prefix}process_max_fds)`,
        legend: '{{instance}}',
      },
    ],
  },
];
