import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DefaultReporter, type TestModule, type TestSpecification } from 'vitest/node';

/** A file outside the searches that takes longer is named as too slow. */
const FILE_SECONDS_MAX = 60;
const SLOWEST_SHOWN = 10;
const OTHERS = 'Everything of one machine, the searches too: npm run test:all. On a cluster: npm run test:cluster.';

interface TestFile {
  file: string;
  /** Wall-clock time of the whole file: imports, hooks and tests. */
  seconds: number;
}

/**
 * vitest's own report, with its progress (the files that run, how many are left) where there is no terminal to draw on, and at the
 * end the slowest files. Writes `.omicron/tests.json`: `{seconds, passed, failed, slowest: [{file, seconds}]}`.
 */
export default class TestReport extends DefaultReporter {
  readonly #running = new Map<string, number>();
  readonly #files: (TestFile & { search: boolean })[] = [];
  #filesTotal = 0;
  #startedMs = 0;

  override onTestRunStart(specifications: readonly TestSpecification[]): void {
    super.onTestRunStart(specifications);
    this.#filesTotal = specifications.length;
    this.#startedMs = performance.now();
  }

  override onTestModuleQueued(module: TestModule): void {
    super.onTestModuleQueued(module);
    this.#running.set(module.relativeModuleId, performance.now());
    if (!this.isTTY) this.log(`   running ${[...this.#running.keys()].join(', ')}; ${this.#left()}`);
  }

  override onTestModuleEnd(module: TestModule): void {
    super.onTestModuleEnd(module);
    const file = module.relativeModuleId;
    const seconds = secondsSince(this.#running.get(file) ?? performance.now());
    this.#running.delete(file);
    this.#files.push({ file, seconds, search: module.project.name === 'search' });
  }

  override onTestRunEnd(...end: Parameters<DefaultReporter['onTestRunEnd']>): void {
    super.onTestRunEnd(...end);
    const [modules, unhandledErrors] = end;
    const slowest = this.#files.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST_SHOWN);
    this.log('Slowest files:');
    for (const { file, seconds, search } of slowest) {
      const tooSlow = !search && seconds > FILE_SECONDS_MAX ? `, over the ceiling of ${FILE_SECONDS_MAX} s a file` : '';
      this.log(`  ${seconds.toFixed(1).padStart(6)} s  ${file}${tooSlow}`);
    }
    const count = (state: 'passed' | 'failed') =>
      modules.flatMap(module => [...module.children.allTests(state)]).length;
    const broken = modules.filter(module => module.errors().length > 0).length;
    writeReport(join(this.ctx.config.root, '.omicron', 'tests.json'), {
      seconds: secondsSince(this.#startedMs),
      passed: count('passed'),
      failed: count('failed') + broken + unhandledErrors.length,
      slowest: slowest.map(({ file, seconds }) => ({ file, seconds })),
    });
    this.log(`\n${OTHERS}\n`);
  }

  #left(): string {
    const left = this.#filesTotal - this.#files.length - this.#running.size;
    return `${left} of ${this.#filesTotal} files left`;
  }
}

const secondsSince = (startedMs: number): number => Math.round((performance.now() - startedMs) / 100) / 10;

function writeReport(
  path: string,
  report: { seconds: number; passed: number; failed: number; slowest: TestFile[] },
): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(report, null, 2)}\n`);
}
