import { type TestTool, testPath } from '../local/test-tools.ts';
import { commandPath } from '../runner/browser/browser-path.ts';
import { ROOT } from './local/machine.ts';

/** The path of a program that only tests use; undefined on a machine without it. */
export const testTool = (name: TestTool): string | undefined =>
  commandPath(name, testPath(ROOT, process.env.PATH ?? ''));
