// Reads the JSON reports of vitest for .ci/run:
//   node .ci/report.js failed REPORT            prints the files that failed, a line each
//   node .ci/report.js summary REPORT[=AGAIN].. prints every failure, then "N passed, N failed"; AGAIN holds files that ran once more
// Beside a report is what its run said on stderr (REPORT.stderr) and, of one with an error outside of any test, its code (REPORT.exit-code).
import { existsSync, readFileSync } from 'node:fs';

/** Its worker ended before it did, or its error has no words. */
const UNEXPLAINED = 'the file failed, and did not say why';

/** @returns {Map<string, {tests: {fullName: string, status: string, reason: string}[], broken?: string}>} by file; no report: undefined */
function read(path) {
  if (!existsSync(path)) return undefined;
  const { testResults } = JSON.parse(readFileSync(path, 'utf8'));
  return new Map(
    testResults.map(({ name, status, message = '', assertionResults }) => {
      const tests = assertionResults.map(({ fullName, status, failureMessages: [reason = ''] }) => ({
        fullName,
        status,
        reason,
      }));
      // a file that fails without a failed test did not load, or a hook of its own failed
      const broken = status === 'failed' && !tests.some(failed) ? message || UNEXPLAINED : undefined;
      return [name, { tests, broken }];
    }),
  );
}

const failed = test => test.status === 'failed';
const bad = ({ tests, broken }) => broken !== undefined || tests.some(failed);
const firstLine = text => text.split('\n')[0].slice(0, 300);
const say = (word, file, { tests, broken }) => {
  // Named here as well: of a long log, the end is what is read.
  if (broken !== undefined) console.log(`${word} ${file}: ${firstLine(broken)}`);
  for (const { fullName, reason } of tests.filter(failed))
    console.log(`${word} ${file}: ${fullName}\n    ${firstLine(reason)}`);
};

/** What vitest tells of an error outside of any test is on stderr alone, at its end. */
const sayStderr = report => {
  if (existsSync(`${report}.stderr`))
    console.log(readFileSync(`${report}.stderr`, 'utf8').trimEnd().split('\n').slice(-40).join('\n'));
};

const [command, ...reports] = process.argv.slice(2);
if (command === 'failed') {
  for (const [file, result] of read(reports[0]) ?? []) if (bad(result)) console.log(file);
  process.exit(0);
}

const count = { passed: 0, failed: 0, skipped: 0 };
for (const [path, againPath = ''] of reports.map(report => report.split('='))) {
  const files = read(path);
  if (files === undefined) {
    console.log(`FAILED ${path}: the run did not come to its end`);
    count.failed += 1;
    continue;
  }
  if (existsSync(`${path}.exit-code`)) {
    const failedAgain = !existsSync(againPath) || existsSync(`${againPath}.exit-code`);
    const code = readFileSync(`${path}.exit-code`, 'utf8').trim();
    const word = failedAgain ? 'FAILED' : 'FLAKY, passed when run again';
    console.log(`${word} ${path}: an error outside of any test, exit code ${code}`);
    sayStderr(path);
    if (failedAgain) count.failed += 1;
  }
  if ([...files.values()].some(({ broken }) => broken === UNEXPLAINED)) sayStderr(path);
  for (const [file, again] of read(againPath) ?? []) {
    if (!bad(again)) say('FLAKY, passed when run again', file, files.get(file));
    files.set(file, again);
  }
  for (const [file, result] of files) {
    say('FAILED', file, result);
    count.passed += result.tests.filter(test => test.status === 'passed').length;
    count.failed += result.tests.filter(failed).length + (result.broken === undefined ? 0 : 1);
    count.skipped += result.tests.filter(test => test.status !== 'passed' && test.status !== 'failed').length;
  }
}
// A test that was skipped on CI was not run: its part is missing, and that is a failure.
if (count.skipped > 0) console.log(`${count.skipped} tests were skipped; CI runs all of them`);
console.log(`${count.passed} passed, ${count.failed + count.skipped} failed`);
process.exit(count.failed + count.skipped > 0 ? 1 : 0);
