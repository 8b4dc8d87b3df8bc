import type { Reporter, TestModule } from 'vitest/node';

declare module 'vitest' {
  interface TaskMeta {
    /** Tests of another runner that this one started; they count in its place. */
    ran?: { readonly passed: number; readonly failed: number };
  }
}

/** Ends a run with `N passed, N failed`, those of Python among them. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    let [passed, failed] = [0, 0];
    for (const module of modules) {
      const tests = [...module.children.allTests()];
      for (const test of tests) {
        const { ran } = test.meta();
        const isFailed = test.result().state !== 'passed';
        passed += ran?.passed ?? Number(!isFailed);
        failed += ran?.failed || Number(isFailed);
      }
      // what failed outside of a test
      if (module.state() === 'failed' && tests.every(test => test.result().state !== 'failed')) failed += 1;
    }
    process.on('exit', () => process.stdout.write(`${passed} passed, ${failed} failed\n`));
  }
}
