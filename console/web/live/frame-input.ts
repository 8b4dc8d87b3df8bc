import type { ViewerMessage } from '../../../contract/live.ts';
import { LIVE_LIMITS } from '../../../contract/live-limits.ts';

type WheelMessage = Extract<ViewerMessage, { t: 'wheel' }>;

const clampWheel = (pixels: number): number => Math.max(-LIVE_LIMITS.wheelMax, Math.min(LIVE_LIMITS.wheelMax, pixels));

/** Input that a hand makes faster than frames: the last move, and the sum of the turns of the wheel, wait for the next frame. */
export function frameInput(send: (message: ViewerMessage) => void) {
  let lastMove: ViewerMessage | undefined;
  let wheel: WheelMessage | undefined;
  let frame = 0;

  /** Input that waits for the frame is sent before later input. */
  function flush(): void {
    cancelAnimationFrame(frame);
    frame = 0;
    if (lastMove) send(lastMove);
    if (wheel) send(wheel);
    lastMove = undefined;
    wheel = undefined;
  }
  const soon = () => {
    if (frame === 0) frame = requestAnimationFrame(flush);
  };
  return {
    flush,
    move(message: ViewerMessage): void {
      lastMove = message;
      soon();
    },
    turn(message: WheelMessage): void {
      const dx = clampWheel((wheel?.dx ?? 0) + message.dx);
      const dy = clampWheel((wheel?.dy ?? 0) + message.dy);
      wheel = { ...message, dx, dy };
      soon();
    },
  };
}
