import { expect, test } from 'vitest';
import { type DownloadsOptions, downloads } from '../../../../runner/calls/notes/downloads.ts';
import type { KeptFile } from '../../../../runner/files/session-files.ts';
import { fakeTabs } from '../fake-tabs.ts';

function followed() {
  const tabs = fakeTabs();
  const kept: unknown[] = [];
  const problems: unknown[] = [];
  const options = {
    context: tabs.context,
    documents: { isTainted: async () => false, sendsTainted: () => false },
    files: {
      async keepDownload(name: string, _path: string, { isTainted }: { isTainted: boolean }) {
        kept.push({ name, isTainted });
        return { name: name === 'taken.txt' ? 'taken (1).txt' : name } as KeptFile;
      },
    },
    linkTo: (file: KeptFile) => ({ type: 'resource_link', uri: `download:/${file.name}`, name: file.name }),
    conceal: async (text: string) => text.replaceAll('hunter2', '***'),
    onFailed: (error: unknown) => problems.push(error),
  };
  const taken = downloads(options as unknown as DownloadsOptions); // as much of it as is used
  const begin = (name: string, failure: string | null = null) =>
    tabs.emit('download', {
      page: () => tabs.page,
      suggestedFilename: () => name,
      failure: async () => failure,
      path: async () => '/tmp/x',
    });
  return { kept, problems, taken, begin };
}
const turnOfLoop = () => new Promise(resolve => setImmediate(resolve));

test('a download is listed under the name that it is kept by, with a link', async () => {
  const { taken, begin } = followed();
  begin('taken.txt');
  await turnOfLoop();
  const { notes, links } = taken.take();
  expect(notes).toEqual(['Downloading file taken.txt', 'Downloaded file taken.txt as taken (1).txt']);
  expect(links.map(({ uri }) => uri)).toEqual(['download:/taken (1).txt']);
  expect(taken.take()).toEqual({ notes: [], links: [] });
});

test('its name has no secret, no marks and no folder', async () => {
  const { kept, begin } = followed();
  begin('../hunter2<b>.txt');
  await turnOfLoop();
  expect(JSON.stringify(kept)).not.toMatch(/hunter2|<|\//);
});

test('a failed download is not kept, and five notes of many are shown', async () => {
  const { kept, taken, begin, problems } = followed();
  begin('broken.txt', 'canceled');
  for (let n = 1; n <= 4; n += 1) begin(`${n}.txt`);
  await turnOfLoop();
  expect(kept).toHaveLength(4);
  const { notes, links } = taken.take();
  expect(notes).toHaveLength(6);
  expect(notes.at(-1)).toBe('and 4 more downloads');
  expect([links.length, problems]).toEqual([4, []]);
});
