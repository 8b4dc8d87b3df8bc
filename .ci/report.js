// Reads the JSON reports of vitest for .ci/run:
//   node .ci/report.js failed REPORT            prints the files that failed, a line each
//   node .ci/report.js summary REPORT[=AGAIN].. prints every failure, then "N passed, N failed"; AGAIN is the second run of files that failed
// A test that passes only at its second run is flaky: it is named with both outcomes, and counts as passed.
// Beside a report, the second one too, is what its run printed (REPORT.log) and, of one with an error outside of any test, its exit
// code (REPORT.exit-code).
import { existsSync, readFileSync } from 'node:fs';

/** Reason of a file that failed without naming one: its worker ended, or its error has no message. */
const UNEXPLAINED = 'the file failed, and did not say why';
const LOG_LINES = 40;

/** @returns {Map<string, {tests: {fullName: string, status: string, reason: string}[], broken?: string}>} by file; no report: undefined */
function read(path) {
  if (!existsSync(path)) return undefined;
  const { testResults } = JSON.parse(readFileSync(path, 'utf8'));
  return new Map(
    testResults.map(({ name, status, message = '', assertionResults }) => {
      const tests = assertionResults.map(({ fullName, status, duration, failureMessages }) => ({
        fullName,
        status,
        took: duration === undefined ? '' : ` (${(duration / 1000).toFixed(1)} s)`,
        reason: failureMessages.join('\n'),
      }));
      // a file that fails without a failed test did not load, or a hook of its own failed
      const broken = status === 'failed' && !tests.some(failed) ? message || UNEXPLAINED : undefined;
      return [name, { tests, broken }];
    }),
  );
}

const failed = test => test.status === 'failed';
const bad = ({ tests, broken }) => broken !== undefined || tests.some(failed);
const indent = text => text.replace(/^/gm, '    ');

const printLogTail = report => {
  if (existsSync(`${report}.log`))
    console.log(readFileSync(`${report}.log`, 'utf8').trimEnd().split('\n').slice(-LOG_LINES).join('\n'));
};

const [command, ...reports] = process.argv.slice(2);
if (command === 'failed') {
  for (const [file, result] of read(reports[0]) ?? []) if (bad(result)) console.log(file);
  process.exit(0);
}

const count = { passed: 0, failed: 0, skipped: 0 };
const say = (verdict, name, reason) => {
  count[verdict === 'FLAKY' ? 'passed' : 'failed'] += 1;
  console.log(`${verdict} ${name}\n${indent(reason)}`);
};

for (const [path, againPath = ''] of reports.map(report => report.split('='))) {
  const files = read(path);
  if (files === undefined) {
    say('FAILED', path, 'the run did not come to its end');
    printLogTail(path);
    continue;
  }
  const again = read(againPath) ?? new Map();
  if (existsSync(`${path}.exit-code`)) {
    const code = readFileSync(`${path}.exit-code`, 'utf8').trim();
    const passedAgain = existsSync(againPath) && !existsSync(`${againPath}.exit-code`);
    say(passedAgain ? 'FLAKY' : 'FAILED', path, `an error outside of any test, exit code ${code}`);
    printLogTail(path);
    if (existsSync(againPath)) console.log(`When run again: ${passedAgain ? 'passed' : 'failed'}`);
    printLogTail(againPath);
  }
  for (const [file, { tests, broken }] of files) {
    const second = again.get(file);
    const secondOf = name => second?.tests.find(test => test.fullName === name);
    const outcome = (passed, reason, took = '') =>
      `\nWhen run again, by itself: ${passed ? `passed${took}` : `failed${took}\n${indent(reason)}`}`;
    if (broken !== undefined) {
      const passed = second !== undefined && !bad(second);
      say(passed ? 'FLAKY' : 'FAILED', file, broken + (second ? outcome(passed, second.broken ?? 'tests failed') : ''));
      if (broken === UNEXPLAINED) printLogTail(path);
    }
    for (const { fullName, took, reason } of tests.filter(failed)) {
      const repeated = secondOf(fullName);
      const passed = repeated?.status === 'passed';
      const second = repeated ? outcome(passed, repeated.reason, repeated.took) : '';
      say(passed ? 'FLAKY' : 'FAILED', `${file}: ${fullName}${took}`, reason + second);
    }
    count.passed += tests.filter(test => test.status === 'passed').length;
    count.skipped += tests.filter(test => test.status !== 'passed' && test.status !== 'failed').length;
  }
}
// A test that was skipped on CI was not run: its part is missing, and that is a failure.
if (count.skipped > 0) console.log(`${count.skipped} tests were skipped; CI runs all of them`);
console.log(`${count.passed} passed, ${count.failed + count.skipped} failed`);
process.exit(count.failed + count.skipped > 0 ? 1 : 0);
