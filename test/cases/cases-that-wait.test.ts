import { testCasesThatWait } from './test-cases.ts';

await testCasesThatWait();
