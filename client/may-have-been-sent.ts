/** Codes of Node.js for requests that were never sent, so that nothing ran. */
const NOT_SENT = ['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'];

/** Whether a request of which `fetch` threw this may have been read. */
export function mayHaveBeenSent(error: unknown): boolean {
  const cause = error instanceof Error ? (error.cause ?? error) : undefined; // fetch hides why
  return !(cause instanceof Error && 'code' in cause && NOT_SENT.includes(String(cause.code)));
}
