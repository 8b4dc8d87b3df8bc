import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Names that stay although promtool has another taste. */
export const KEPT_NAMES: readonly string[] = [
  // S3's lifecycle rules count in days.
  'omicron_artifact_store_expiry_days',
  'omicron_artifact_store_retention_days',
];

/** The metrics of a text at `/metrics` of which `promtool check metrics` says something, each with what it says. */
export async function lintMetrics(text: string): Promise<string[]> {
  const checking = promisify(execFile)('promtool', ['check', 'metrics']);
  checking.child.stdin?.end(text);
  const { stdout, stderr } = await checking.catch(error => error as { stdout: string; stderr: string });
  return `${stdout}${stderr}`.split('\n').filter(line => line !== '');
}
