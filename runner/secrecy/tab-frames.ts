import type { BrowserContext, CDPSession, Frame, Page } from 'playwright-core';
import { siteOf } from './site.ts';

/** A frame of a tab, as the protocol describes it. */
export interface TreeFrame {
  readonly id: string;
  readonly loaderId: string;
  readonly url: string;
  readonly parentSite: string | undefined;
}

/** The document in a frame: another one has another key. */
export const documentKey = ({ id, loaderId }: TreeFrame): string => `${id} ${loaderId}`;

/** The site of a frame's document; of one without an address of its own, that of the frame around it, or of its opener. */
export const siteOfFrame = ({ url, parentSite }: TreeFrame): string => siteOf(url) ?? parentSite ?? '';

/** The frames of one tab, by the process in which they are. */
export interface TabFrames {
  /** One session for each process: the tab's own, and one for each frame that has a process of its own. */
  sessions(): Promise<CDPSession[]>;
  /** The frames in the process of this session. */
  of(session: CDPSession): Promise<TreeFrame[]>;
  /** Id of the frame at the top of this process; undefined: its frames were not read yet. */
  topOf(session: CDPSession): string | undefined;
}

export function tabFrames(context: BrowserContext, page: Page): TabFrames {
  const open = new Map<Frame, { readonly from: string; readonly session: CDPSession | undefined }>();
  const tops = new WeakMap<CDPSession, string>();

  async function sessionOf(frame: Frame): Promise<CDPSession | undefined> {
    const from = siteOf(frame.url()) ?? '';
    const before = open.get(frame);
    if (before?.from === from) return before.session;
    const isMain = frame === page.mainFrame();
    if (before !== undefined && isMain) return before.session;
    const session = await context.newCDPSession(isMain ? page : frame).catch(() => undefined);
    session?.once('close', () => open.delete(frame));
    open.set(frame, { from, session });
    return session;
  }

  return {
    async sessions() {
      const frames = page.frames();
      for (const frame of open.keys()) if (!frames.includes(frame)) open.delete(frame);
      const found = await Promise.all(frames.map(sessionOf));
      return found.filter(session => session !== undefined);
    },
    async of(session) {
      const { frameTree } = await session.send('Page.getFrameTree');
      const found: TreeFrame[] = [];
      const walk = (tree: typeof frameTree, parentSite: string | undefined): void => {
        const { id, loaderId, url } = tree.frame;
        found.push({ id, loaderId, url, parentSite });
        for (const child of tree.childFrames ?? []) walk(child, siteOf(url) ?? parentSite);
      };
      tops.set(session, frameTree.frame.id);
      walk(frameTree, siteOf((await page.opener())?.url() ?? ''));
      return found;
    },
    topOf: session => tops.get(session),
  };
}
