import { expect, test } from 'vitest';
import { runStages, type Stage } from '../../../runner/calls/stage.ts';
import { stageCall, text } from './stage-call.ts';

const heard: string[] = [];
const stage =
  (name: string): Stage =>
  async (_call, next) => {
    heard.push(`${name} down`);
    const result = await next();
    heard.push(`${name} up`);
    return result;
  };

test('a call goes down the list, its answer comes back up', async () => {
  const last: Stage = async () => text('done');
  expect(await runStages([stage('first'), stage('second'), last], stageCall())).toEqual(text('done'));
  expect(heard).toEqual(['first down', 'second down', 'second up', 'first up']);
});

test('a list whose last stage does not answer is a mistake', async () => {
  await expect(runStages([stage('only')], stageCall())).rejects.toThrow('The last stage of a call answers it.');
});
