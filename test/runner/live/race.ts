import { setTimeout as delay } from 'node:timers/promises';
import { callText } from '../start.ts';
import { type LeasedRunner, startLease } from '../start-lease.ts';
import { type TestViewer, watchLive } from './viewer.ts';

/**
 * The agent acts on the left half only, people on the right one. The page notes when the agent's inputs come, by the clock of this
 * machine. Nothing on it changes: no picture and no wait for one slows a trial.
 */
const PAGE = `data:text/html,<style>body{margin:0}div{position:absolute;top:0;width:960px;height:1080px}</style>
<div id=a>agent</div><div style="left:960px">people</div><script>
let stamps = [];
const note = event => { if (event.isTrusted) stamps.push(Date.now()); };
for (const kind of ['mousemove', 'mousedown', 'mouseup']) a.addEventListener(kind, note);
addEventListener('keydown', note);
</script>`;

export interface RaceResult {
  /** Inputs of the agent in all. */
  readonly inputs: number;
  /** Inputs of the agent that reached the page while a person had control. */
  readonly underPerson: number;
  /** How often a second person took control from the first. */
  readonly takenOver: number;
}

/** One call in fifty presses: after a press the tool waits until the page has answered, after a move it does not. */
const PRESS_EVERY = 50;
const CALLS_EACH = 3;
/** The moves of a trial take about as long. */
const CALLS_MS = 40;
const TRIALS_COUNTED_AT_ONCE = 50;

interface Person {
  readonly viewer: TestViewer;
  readonly id: string;
}
interface Held {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Lets an agent act, a person take control, and perhaps another one take it from them, at random moments, again and again. */
export async function race(trials: number, random: () => number): Promise<RaceResult> {
  await using lease = await startLease({ snapshot: 'none' });
  const { client, controller, runner } = lease;
  await callText(client, 'browser_navigate', { url: PAGE });
  const join = async (viewer: string): Promise<Person> => {
    const joined = await watchLive(runner.url, await controller.liveToken(runner, { viewer }));
    return { viewer: joined, id: (await joined.heard('hello')).you };
  };
  const people = await Promise.all(['ada', 'grace'].map(join));
  const result = { inputs: 0, underPerson: 0, takenOver: 0 };
  let held: Held[] = [];

  /** Counts in the page: a result of an agent's call has a budget. */
  async function count(): Promise<void> {
    const counting = `() => {
      const held = ${JSON.stringify(held.map(({ fromMs, toMs }) => [fromMs, toMs]))};
      const under = stamps.filter(at => held.some(([from, to]) => at > from && at < to)).length;
      const counts = [stamps.length, under];
      stamps = [];
      return counts.join(' of which ');
    }`;
    const text = await callText(client, 'browser_evaluate', { function: counting });
    const [, inputs, under] = /(\d+) of which (\d+)/.exec(text) ?? [];
    result.inputs += Number(inputs);
    result.underPerson += Number(under);
    held = [];
  }

  for (let trial = 1; trial <= trials; trial += 1) {
    for (const { viewer } of people) viewer.messages.length = 0;
    const calls = Array.from({ length: CALLS_EACH }, () => anyCall(client, random));
    const [first, second] = random() < 0.5 ? people : people.toReversed();
    if (first === undefined || second === undefined) throw new Error('two people joined');
    await delay(random() * CALLS_MS);
    await taken(first);
    const fromMs = Date.now();
    let holder = first;
    if (random() < 0.5) {
      if (random() < 0.5) await act(first, random);
      await taken(second, first);
      holder = second;
      result.takenOver += 1;
    }
    await act(holder, random);
    held.push({ fromMs, toMs: Date.now() });
    holder.viewer.say({ t: 'release' });
    await Promise.all(calls);
    await holder.viewer.heard('control', ({ control }) => control.state === 'agent' && control.why === 'released');
    if (trial % TRIALS_COUNTED_AT_ONCE === 0 || trial === trials) await count();
  }
  for (const { viewer } of people) viewer.close();
  return result;
}

async function taken(by: Person, from?: Person): Promise<void> {
  by.viewer.say({ t: 'take', from: from?.id });
  await by.viewer.heard('control', ({ control }) => control.state === 'person' && control.holder === by.id);
}

/** A click of a person. The agent's earlier input has reached the page by its end: Chromium keeps the order. */
async function act({ viewer }: Person, random: () => number): Promise<void> {
  const place = { t: 'mouse', x: 1_400, y: anywhere(random), button: 'left', clicks: 1 };
  viewer.messages.length = 0;
  viewer.say({ ...place, kind: 'down', buttons: 1 });
  viewer.say({ ...place, kind: 'up' });
  await viewer.heard('act');
}

const anywhere = (random: () => number): number => 1 + Math.floor(random() * 900);

function anyCall(client: LeasedRunner['client'], random: () => number): Promise<string> {
  if (random() > 1 / PRESS_EVERY)
    return callText(client, 'browser_mouse_move_xy', { x: anywhere(random), y: anywhere(random) });
  return random() < 0.5
    ? callText(client, 'browser_click', { target: '#a' })
    : callText(client, 'browser_press_key', { key: 'x' });
}
