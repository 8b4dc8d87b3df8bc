import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { ROOMS } from './files.ts';

interface Rule {
  name: string;
  to: { pathNot: string[] };
}

const SHARED = ['contract', 'http', 'process', 'time'];

it('the picture of the rooms has the imports that .dependency-cruiser.js allows, and no other', async () => {
  const cruiser = new URL('../../.dependency-cruiser.js', import.meta.url).href;
  const { forbidden } = (await import(cruiser)).default as { forbidden: Rule[] }; // the file is plain JavaScript
  const allowed = forbidden
    .filter(({ name }) => ROOMS.some(room => name === `${room}-imports`))
    .flatMap(({ name, to }) => {
      const room = name.replace(/-imports$/, '');
      const others = to.pathNot.map(path => /^\^([\w-]+)/.exec(path)?.[1]).filter(other => other !== room);
      return [...new Set(others)].map(other => ({ room, other: other ?? '' }));
    })
    // the text says who imports what is shared, and that a cluster borrows the tests' sites
    .filter(({ room, other }) => (SHARED.includes(room) || !SHARED.includes(other)) && other !== 'test')
    .map(({ room, other }) => `${room} --> ${other}`);
  const [, picture = ''] =
    /```mermaid\nflowchart[^\n]*\n(.*?)```/s.exec(await readFile('docs/architecture.md', 'utf8')) ?? [];
  const drawn = picture.split('\n').filter(line => ROOMS.includes(/^\s*([\w-]+) --> /.exec(line)?.[1] ?? ''));
  expect(drawn.map(line => line.trim()).sort()).toEqual(allowed.sort());
  for (const room of ROOMS.filter(room => room !== 'test')) expect(picture).toMatch(new RegExp(`\\b${room}\\b`));
});
