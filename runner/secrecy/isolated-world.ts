import type { CDPSession } from 'playwright-core';

const WORLD = 'omicron-scan';

/** Evaluates an expression in a world of its own beside the page's, which cannot lie to it. Rejects where it throws. */
export async function evaluateAside(session: CDPSession, frameId: string, expression: string): Promise<unknown> {
  const { executionContextId: contextId } = await session.send('Page.createIsolatedWorld', {
    frameId,
    worldName: WORLD,
  });
  const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
    contextId,
    expression,
    awaitPromise: true,
    returnByValue: true,
  });
  if (exceptionDetails !== undefined) throw new Error('a document cannot be read');
  return result.value;
}
