import { expect, test } from 'vitest';
import { openSearch, randomOf } from '../../search.ts';
import { race } from './race.ts';

const search = openSearch();
const TRIALS = search.countOf(12);

test('no input of the agent reaches the page while a person has control, however they are interleaved', {
  timeout: 60_000 + TRIALS * 3_000,
}, async () => {
  const { inputs, underPerson, takenOver } = await race(TRIALS, randomOf(search.seed));
  console.info(
    `${TRIALS} trials, ${takenOver} with a second person: ${inputs} inputs of the agent, ${underPerson} while a person had control`,
  );
  expect(underPerson).toBe(0);
  expect(inputs).toBeGreaterThan(TRIALS);
});
