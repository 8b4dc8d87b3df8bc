import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';

it('[O23] the rollout has the five steps of the document, in order, each with what shows it and what reverts it', async () => {
  const steps = (await readFile('docs/rollout.md', 'utf8'))
    .split(/^## /m)
    .filter(text => /^[1-5]\. /.test(text))
    .map(text => ({ title: text.split('\n')[0], text }));
  expect(steps.map(({ title }) => title)).toEqual([
    '1. The controller, without users',
    '2. One lease by hand',
    '3. The API, behind its flag',
    '4. Internal users',
    '5. All users',
  ]);
  for (const { title, text } of steps) {
    expect(text, title).toMatch(/^Works[:,]/m);
    expect(text, title).toMatch(/^Back: /m);
  }
  expect(steps[2]?.text).toContain('BROWSER_SESSIONS_ENABLED=false');
});
