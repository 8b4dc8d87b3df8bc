import type { Frame, Page, Request } from 'playwright-core';

/** Undefined: of a document that is not there yet, or of a worker. */
export function frameOf(request: Request): Frame | undefined {
  try {
    return request.frame();
  } catch {
    return undefined;
  }
}

/** The tab whose own document is asked for; undefined: another request, or a tab that is not there yet. */
export function tabOfDocument(request: Request): Page | undefined {
  const frame = request.isNavigationRequest() ? frameOf(request) : undefined;
  const page = frame?.page();
  return frame === page?.mainFrame() ? page : undefined;
}
