export * from '../time/within.ts';
