import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** The metrics of a text at `/metrics` of which `promtool check metrics` says something, each with what it says. */
export async function lintMetrics(text: string): Promise<string[]> {
  const checking = promisify(execFile)('promtool', ['check', 'metrics']);
  checking.child.stdin?.end(text);
  const { stdout, stderr } = await checking.catch(error => error as { stdout: string; stderr: string });
  return `${stdout}${stderr}`.split('\n').filter(line => line !== '');
}
