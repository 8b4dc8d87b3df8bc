import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { OmicronError } from '../../contract/problem.ts';
import type { ProfileContent, ProfileFiles } from '../../contract/profile.ts';
import type { PlainChunk } from '../../contract/profile-chunks.ts';
import type { RunnerBrowser } from '../browser/browser.ts';
import type { ControllerClient } from '../reporting/controller-client.ts';
import { cutFiles, joinFiles } from './chunks.ts';
import { copyKept } from './kept-files.ts';
import { restore } from './light-profile.ts';
import { readOpenState, writeOpenState } from './open-state.ts';
import type { ProfileBrowser, Saved } from './profile-browser.ts';

export interface CompleteOptions {
  readonly leaseToken: string;
  readonly controller: Pick<ControllerClient, 'readProfileChunks' | 'writeProfileChunks'>;
  /** An empty place of the runner for the browser's files. */
  readonly profileDir: string;
  /** Replaces the runner's browser by one that keeps its files in this folder; `prepare` is done before an agent has it. */
  readonly restart: (userDataDir: string, prepare: (browser: RunnerBrowser) => Promise<void>) => Promise<RunnerBrowser>;
  readonly info: (message: string, details: Record<string, unknown>) => void;
}

/**
 * Starts the browser again from the files of a complete profile. Sites' writes to their files are there when a process is
 * stopped at any moment, except cookies and localStorage, which Chromium writes late: these are read over the protocol
 * with every save.
 */
export async function openComplete(
  options: CompleteOptions,
  content: ProfileContent | null,
  signal: AbortSignal,
): Promise<ProfileBrowser> {
  const { controller, leaseToken, profileDir, info } = options;
  const userDataDir = join(profileDir, 'data');
  const copy = join(profileDir, 'copy');
  await mkdir(userDataDir, { recursive: true, mode: 0o711 });
  if (content?.files != null)
    await joinFiles(content.files, userDataDir, objects => controller.readProfileChunks(leaseToken, objects, signal));
  let leftOut = 0;
  const browser = await options.restart(userDataDir, async ({ context, major }) => {
    if (content === null) return;
    const { state, files } = content;
    if (files !== null) refuseOlderBrowser(files.chromium, major);
    leftOut = await (files === null ? restore(context, state) : writeOpenState(context, state));
  });

  const filesIn = async (folder: string, { version, chunks }: Saved, bound: AbortSignal): Promise<ProfileFiles> => {
    const write = (cut: PlainChunk[]) => controller.writeProfileChunks(leaseToken, version, cut, bound);
    return { chromium: browser.major, ...(await cutFiles(folder, chunks, write)) };
  };
  return {
    context: browser.context,
    leftOut,
    async read(over, bound) {
      await rm(copy, { recursive: true, force: true });
      const state = await readOpenState(browser.context);
      const startMs = performance.now();
      await browser.pause.hold();
      await copyKept(userDataDir, copy).finally(browser.pause.letGo);
      info('browser paused', { ms: Math.round(performance.now() - startMs) });
      const files = await filesIn(copy, over, bound);
      await rm(copy, { recursive: true, force: true });
      return { state, files };
    },
    async readLast(over, unused, bound) {
      await unused;
      const { cookies } = await readOpenState(browser.context);
      await browser.close(); // it writes all down
      return { state: { cookies, origins: [] }, files: await filesIn(userDataDir, over, bound) };
    },
  };
}

/** Chromium brings files of an older version up to date, and may discard those of a newer one without a word. */
function refuseOlderBrowser(saved: number, running: number): void {
  if (saved <= running) return;
  const detail =
    `This version of the profile was saved by Chromium ${saved}, and this runner has ${running}, which may damage it. ` +
    'Update the runners, or restore an older version.';
  throw new OmicronError('profile_unreadable', detail);
}
