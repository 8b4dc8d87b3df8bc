export * from '../time/backoff.ts';
