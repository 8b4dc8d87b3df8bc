import { expect, test } from 'vitest';
import { eventGate, GATE_LIMITS, type GateListener } from '../../../runner/browser/event-gate.ts';

const KIB = 1024;
const LIMITS = { ...GATE_LIMITS, messageBytesMax: 64 * KIB, scriptBytesMax: 16 * KIB };

/** Messages that pass a gate, and those that it reports. */
function gateUnderTest() {
  const passed: unknown[] = [];
  const floods: string[] = [];
  const popups: string[] = [];
  const listener: GateListener = {
    onFlood: ({ id }) => floods.push(id),
    onPopup: ({ id, openerId }) => popups.push(`${openerId}>${id}`),
    onDownload: () => undefined,
  };
  let nowMs = 0;
  const gate = eventGate(listener, () => nowMs, LIMITS);
  const send = (...messages: object[]) => {
    const bytes = Buffer.from(messages.map(message => `${JSON.stringify(message)}\0`).join(''));
    // In pieces, as a pipe delivers it.
    for (let at = 0; at < bytes.length; at += 4 * KIB)
      gate.read(bytes.subarray(at, at + 4 * KIB), message => passed.push(JSON.parse(message.toString().slice(0, -1))));
  };
  const attach = (targetId: string, more: object = {}) =>
    send({
      method: 'Target.attachedToTarget',
      params: { sessionId: `5E55${targetId}`, targetInfo: { targetId, type: 'page', ...more } },
    });
  return { gate, send, attach, passed, floods, popups, advance: (ms: number) => (nowMs += ms) };
}

const answer = (id: number, characters: number, sessionId: string) => ({
  id,
  result: { result: { type: 'string', value: 'x'.repeat(characters) } },
  sessionId,
});

test("a script's answer that is too long becomes the script's own error, and is not passed on", () => {
  const { attach, send, passed } = gateUnderTest();
  attach('A');
  send(answer(1, 15 * KIB, '5E55A'), answer(2, 17 * KIB, '5E55A'), answer(3, 900 * KIB, '5E55A'));
  expect(passed.slice(1)).toEqual([
    answer(1, 15 * KIB, '5E55A'),
    ...[2, 3].map(id => ({
      id,
      sessionId: '5E55A',
      result: {
        result: expect.anything(),
        exceptionDetails: expect.objectContaining({
          exception: expect.objectContaining({ description: expect.stringMatching(/answer is longer than .* MiB/) }),
        }),
      },
    })),
  ]);
});

test('any other answer may be longer, to a limit beyond which the command fails', () => {
  const { attach, send, passed } = gateUnderTest();
  attach('A');
  const body = (id: number, kib: number) => ({ id, result: { body: 'x'.repeat(kib * KIB) }, sessionId: '5E55A' });
  send(body(1, 60), body(2, 70));
  expect(passed.slice(1)).toEqual([
    body(1, 60),
    { id: 2, sessionId: '5E55A', error: { code: -32_000, message: expect.stringMatching(/longer than/) } },
  ]);
});

test('nothing is answered for a tab that has crashed', () => {
  const { attach, send, passed } = gateUnderTest();
  attach('A');
  attach('B');
  send({ method: 'Inspector.targetCrashed', params: {}, sessionId: '5E55A' });
  send(answer(1, 1, '5E55A'), answer(2, 1, '5E55B'));
  expect(passed.slice(3)).toEqual([answer(2, 1, '5E55B')]);
});

test('a tab and those that it opened share one rate of opening tabs', () => {
  const { attach, popups, advance } = gateUnderTest();
  attach('A');
  attach('P0', { openerId: 'A' });
  for (let n = 1; n < LIMITS.popups.burst; n += 1) attach(`P${n}`, { openerId: `P${n - 1}` });
  expect(popups).toEqual([]);
  attach('Q', { openerId: 'P3' });
  attach('R', { openerId: 'A' });
  expect(popups).toEqual(['P3>Q', 'A>R']);
  advance(1_000 / LIMITS.popups.perSecond);
  attach('S', { openerId: 'A' });
  attach('T', { openerId: 'other' });
  expect(popups).toHaveLength(2);
});

test('a session whose beginning was too long to be read has a limit too', () => {
  const { attach, send, floods } = gateUnderTest();
  attach('A', { url: 'x'.repeat(100 * KIB) });
  const line = { method: 'Runtime.consoleAPICalled', params: { text: 'x'.repeat(60 * KIB) }, sessionId: '5E55A' };
  for (let n = 0; n < 1_000; n += 1) send(line);
  expect(floods).toEqual(['5E55A']);
});

test('the loudest tab is the one that has sent the most, and is passed over once stopped', () => {
  const { gate, attach, send, passed } = gateUnderTest();
  attach('A');
  attach('B');
  send(answer(1, 2 * KIB, '5E55A'), answer(2, 4 * KIB, '5E55B'));
  expect(gate.stopLoudest()).toEqual({ id: 'B', type: 'page' });
  const before = passed.length;
  send({ method: 'Network.requestWillBeSent', params: {}, sessionId: '5E55B' });
  expect(passed).toHaveLength(before);
  expect(gate.stopLoudest()?.id).toBe('A');
  expect(gate.stopLoudest()).toBeUndefined();
});
