import { testCases } from './test-cases.ts';

await testCases(2);
