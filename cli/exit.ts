import { OmicronError, PROBLEMS } from '../contract/problem.ts';

export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  refused: 4,
  tryLater: 5,
  /** 128 + SIGINT. */
  interrupted: 130,
} as const;

/** When each exit code is returned, for help and docs/reference/command.md. */
export const EXIT_MEANINGS = {
  ok: 'done',
  failed: 'the command was tried and failed',
  usage: 'the command line, or the request, is invalid',
  notFound: 'not found',
  refused: 'refused; repeating the command changes nothing',
  tryLater: '429, 503 or unreachable; may succeed later',
  interrupted: 'stopped by a signal',
} as const satisfies Record<keyof typeof EXIT, string>;

/** An invalid command line. */
export class UsageError extends Error {}

export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return EXIT.usage;
  if (!(error instanceof OmicronError)) return EXIT.failed;
  const { status } = PROBLEMS[error.code];
  if (error.code === 'invalid_request') return EXIT.usage;
  if (status === 404) return EXIT.notFound;
  if (error.code === 'sandbox_runtime_required') return EXIT.refused;
  if (status === 429 || status === 503) return EXIT.tryLater;
  return status < 500 ? EXIT.refused : EXIT.failed;
}

/** One line: the code, and a sentence that says what to do. */
export function errorLine(error: unknown): string {
  if (error instanceof UsageError) return `usage: ${error.message}`;
  if (error instanceof OmicronError) return `${error.code}: ${error.message}`.replaceAll('\n', ' ');
  return `failed: ${error instanceof Error ? error.message : error}`.replaceAll('\n', ' ');
}
