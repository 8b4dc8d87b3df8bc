import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '../../eventually.ts';
import { callText } from '../start.ts';
import type { LeasedRunner } from '../start-lease.ts';
import { watchLive } from './viewer.ts';

/** The page says when it was clicked, by the clock of this machine. */
const PAGE =
  'data:text/html,<button id=a onclick="stamps.push(Date.now()); title.textContent = JSON.stringify(stamps)">click</button>' +
  '<p id=title></p><script>stamps = []</script>';

export interface RaceResult {
  /** Clicks of the agent in all. */
  readonly clicks: number;
  /** Clicks of the agent that reached the page while a person had control. */
  readonly underPerson: number;
}

/** Lets an agent click twice and a person take control at some moment of it, again and again. */
export async function race({ client, controller, runner }: LeasedRunner, trials: number): Promise<RaceResult> {
  await callText(client, 'browser_navigate', { url: PAGE });
  const person = await watchLive(runner.url, await controller.liveToken(runner));
  await person.heard('hello');
  const held: { fromMs: number; toMs: number }[] = [];
  for (let trial = 0; trial < trials; trial += 1) {
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
    await eventually('the agent to have control', () => {
      const last = person.messages.findLast(message => message.t === 'control');
      return last?.t === 'control' && last.control.state === 'agent';
    });
  }
  const text = await callText(client, 'browser_evaluate', { function: '() => JSON.stringify(stamps)' });
  const stamps: number[] = JSON.parse(/\[[\d,]*\]/.exec(text)?.[0] ?? '[]');
  person.close();
  const underPerson = stamps.filter(atMs => held.some(({ fromMs, toMs }) => atMs > fromMs && atMs < toMs)).length;
  return { clicks: stamps.length, underPerson };
}
