import { CONSOLE_ROUTES } from '../../contract/console.ts';
import { type ConsoleLink, consoleLink } from '../../contract/console-link.ts';
import { AUDIENCES } from '../../contract/names.ts';
import { OmicronError } from '../../contract/problem.ts';
import { serviceKey, signServiceToken } from '../../contract/tokens.ts';
import { fetchCalls } from '../../http/fetch-calls.ts';
import { problemClient } from '../../http/problem-client.ts';
import { StackFolder } from '../../local/stack-folder.ts';
import type { Cli } from '../connect.ts';

const TIMEOUT_MS = 5_000;

/** `console`: a new link to the console of the folder's stack. Throws `not_configured` when none runs. */
export async function consoleLinkOf({ folder, signal }: Cli): Promise<ConsoleLink> {
  const running = await new StackFolder(folder).running();
  if (!running)
    throw new OmicronError('not_configured', `No stack runs in ${folder}: start one with "omicron-browser up".`);
  const call = problemClient(
    { url: running.consoleUrl, name: 'The console', unreachable: 'controller_unreachable', garbled: 'internal_error' },
    fetchCalls(fetch),
  );
  const { value } = await call({
    method: 'POST',
    path: CONSOLE_ROUTES.links,
    answer: consoleLink,
    token: await signServiceToken(serviceKey(running.serviceSecret), undefined, AUDIENCES.console),
    timeoutMs: TIMEOUT_MS,
    signal,
  });
  return value;
}
