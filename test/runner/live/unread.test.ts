import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { LIVE_CLOSE, LIVE_LIMITS } from '../../../contract/live-limits.ts';
import { liveViewer } from '../../../runner/live/viewer.ts';
import { steppedClock } from '../../fakes/clock.ts';

test('a viewer that acknowledges pictures and reads none is closed before they fill the memory', () => {
  let closed: number | undefined;
  const socket = Object.assign(new EventEmitter(), {
    ...{ readyState: 1, bufferedAmount: 0, terminate: () => undefined },
    send(data: string | Uint8Array) {
      socket.bufferedAmount += data.length;
    },
    close(code: number) {
      Object.assign(socket, { readyState: 2 });
      closed = code;
    },
  });
  const viewer = liveViewer({
    ...{ id: 'v1', identity: 'id 1', name: 'eve', role: 'view', socket, clock: steppedClock() },
    ...{ onMessage: () => undefined, onClose: () => undefined },
  });
  const picture = new Uint8Array(100_000);
  for (let seq = 0; seq < 1_000; seq += 1) {
    viewer.show(picture);
    socket.emit('message', JSON.stringify({ t: 'ack', seq }), false);
  }
  expect(closed).toBe(LIVE_CLOSE.silent);
  expect(socket.bufferedAmount).toBeLessThan(LIVE_LIMITS.unreadBytesMax + 2 * picture.length);
});
