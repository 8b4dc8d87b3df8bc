/**
 * How Node.js is started for the local stack. Creating a database takes a gigabyte for a moment, in small pieces that V8 and glibc
 * would keep: 409 MB of an idle process without these, 247 with them (`npm run bench -- stack`).
 */
export const STACK_FLAGS = ['--max-semi-space-size=4', '--v8-pool-size=1'];
export const STACK_ENVIRONMENT = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '16384',
  MALLOC_TRIM_THRESHOLD_: '131072',
};
