import type { CDPSession } from 'playwright-core';

/** A shadow root that no observer reports: a page's closed one, or the browser's own in a field. */
export interface HiddenRoot {
  readonly backendNodeId: number;
  /** Id of the document in which it is. */
  readonly frameId: string;
  readonly isBrowsers: boolean;
}

const FIELDS = /^(INPUT|TEXTAREA|SELECT)$/;

/**
 * The hidden shadow roots of one process, `topFrameId` being the frame at its top. Empty ones are in no snapshot of the
 * layout. One flat list, since the protocol's trees end at 150 levels.
 */
export async function readHiddenRoots(session: CDPSession, topFrameId: string): Promise<HiddenRoot[]> {
  await session.send('DOM.enable');
  const { nodes } = await session
    .send('DOM.getFlattenedDocument', { depth: -1, pierce: true })
    .finally(() => session.send('DOM.disable'));
  const parents = new Map<number, number | undefined>();
  const framesOfDocuments = new Map<number, string | undefined>();
  for (const { nodeId, parentId, shadowRoots, contentDocument, frameId } of nodes) {
    parents.set(nodeId, parentId);
    for (const root of shadowRoots ?? []) parents.set(root.nodeId, nodeId);
    if (contentDocument !== undefined) framesOfDocuments.set(contentDocument.nodeId, frameId);
  }
  const frameOf = (node: number): string => {
    let at: number | undefined = node;
    while (at !== undefined && !framesOfDocuments.has(at)) at = parents.get(at);
    return framesOfDocuments.get(at ?? 0) ?? topFrameId;
  };
  return nodes.flatMap(({ nodeId, nodeName, shadowRoots = [] }) =>
    shadowRoots
      .filter(({ shadowRootType: type }) => type === 'closed' || (type === 'user-agent' && FIELDS.test(nodeName)))
      .map(({ backendNodeId, shadowRootType }) => ({
        backendNodeId,
        frameId: frameOf(nodeId),
        isBrowsers: shadowRootType === 'user-agent',
      })),
  );
}
