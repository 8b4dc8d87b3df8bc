export * from '../time/clock.ts';
