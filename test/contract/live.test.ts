import { expect, test } from 'vitest';
import { liveTokenOf, viewerMessage } from '../../contract/live.ts';
import { LIVE_PROTOCOL, liveTokenProtocol } from '../../contract/live-limits.ts';
import { decodePicture, encodePicture, type LivePicture } from '../../contract/live-picture.ts';

test('a picture arrives as it was sent', () => {
  const picture: LivePicture = {
    ...{ kind: 'screenshot' as const, tab: 7, seq: 4_000_000_000, atMs: 1_790_000_000_123.5 },
    ...{ cssWidth: 1920, cssHeight: 1080, jpeg: new Uint8Array([0xff, 0xd8, 0xff]) },
  };
  expect(decodePicture(encodePicture(picture))).toEqual(picture);
});

test('refuses bytes that are not a picture of this version', () => {
  const picture = { tab: 1, seq: 1, atMs: 0, cssWidth: 1, cssHeight: 1, jpeg: new Uint8Array() };
  const bytes = encodePicture({ ...picture, kind: 'screencast' });
  expect(decodePicture(bytes.with(0, 2))).toBeUndefined();
  expect(decodePicture(bytes.with(1, 9))).toBeUndefined();
  expect(decodePicture(bytes.subarray(0, 19))).toBeUndefined();
});

test('a token is read from the subprotocols, and only beside the protocol itself', () => {
  const token = liveTokenProtocol('a.b-c_d.e');
  expect(liveTokenOf(`${LIVE_PROTOCOL}, ${token}`)).toBe('a.b-c_d.e');
  expect(liveTokenOf(token)).toBeUndefined();
  expect(liveTokenOf(LIVE_PROTOCOL)).toBeUndefined();
  expect(liveTokenOf(undefined)).toBeUndefined();
});

test.each([
  ['an unknown message', { t: 'eval', text: '1' }],
  ['a field that no message has', { t: 'take', force: true }],
  ['a place outside of any page', { t: 'mouse', kind: 'down', x: 1e9, y: 0 }],
  ['a text that is too long', { t: 'text', text: 'a'.repeat(100_001) }],
])('%s is refused', (_name, message) => {
  expect(viewerMessage.safeParse(message).success).toBe(false);
});

test('a mouse message has defaults for what a move leaves out', () => {
  expect(viewerMessage.parse({ t: 'mouse', kind: 'move', x: 10, y: 20 })).toEqual({
    ...{ t: 'mouse', kind: 'move', x: 10, y: 20 },
    ...{ button: 'none', buttons: 0, clicks: 0, modifiers: 0 },
  });
});
