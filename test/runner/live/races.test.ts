import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../eventually.ts';
import { callText } from '../start.ts';
import { type LeasedRunner, startLease } from '../start-lease.ts';
import { watchLive } from './viewer.ts';

let lease: LeasedRunner;
beforeAll(async () => {
  lease = await startLease();
});
afterAll(() => lease[Symbol.asyncDispose]());

const TRIALS = Number(process.env.OMICRON_TEST_RACES ?? 10);
/** The page says when it was clicked, by the clock of this machine. */
const PAGE =
  'data:text/html,<button id=a onclick="stamps.push(Date.now()); title.textContent = JSON.stringify(stamps)">click</button>' +
  '<p id=title></p><script>stamps = []</script>';

test('no input of the agent reaches the page while a person has control, however both are interleaved', {
  timeout: 30_000 + TRIALS * 3_000,
}, async () => {
  const { client, controller, runner } = lease;
  await callText(client, 'browser_navigate', { url: PAGE });
  const person = await watchLive(runner.url, await controller.liveToken(runner));
  await person.heard('hello');
  const held: { fromMs: number; toMs: number }[] = [];
  for (let trial = 0; trial < TRIALS; trial += 1) {
    person.messages.length = 0;
    const calls = [0, 1].map(() => callText(client, 'browser_click', { target: '#a' }));
    await delay(Math.random() * 60); // the race: the request comes anywhere in the calls
    person.say({ t: 'take' });
    await person.heard('control', ({ control }) => control.state === 'person');
    const fromMs = Date.now();
    await delay(Math.random() * 30);
    held.push({ fromMs, toMs: Date.now() });
    person.say({ t: 'release' });
    await Promise.all(calls);
    const isAgent = () => {
      const last = person.messages.findLast(message => message.t === 'control');
      return last?.t === 'control' && last.control.state === 'agent';
    };
    await eventually('the agent to have control', isAgent);
  }
  const text = await callText(client, 'browser_evaluate', { function: '() => JSON.stringify(stamps)' });
  const stamps: number[] = JSON.parse(/\[[\d,]*\]/.exec(text)?.[0] ?? '[]');
  const underPerson = stamps.filter(atMs => held.some(({ fromMs, toMs }) => atMs > fromMs && atMs < toMs));
  console.info(
    `${TRIALS} trials, ${stamps.length} clicks of the agent, ${underPerson.length} while a person had control`,
  );
  expect(underPerson).toEqual([]);
  expect(stamps).toHaveLength(2 * TRIALS);
  person.close();
});
