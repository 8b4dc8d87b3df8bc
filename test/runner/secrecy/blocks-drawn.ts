import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { commandPath } from '../../../runner/browser/browser-path.ts';
import { rawPictures } from '../raw-pictures.ts';

const ffmpeg = commandPath('ffmpeg', process.env.PATH ?? '') ?? 'ffmpeg';
const [WIDTH, HEIGHT] = [960, 540];
/** Letters, discs and carets of 24 pixels are not that high; full blocks are. */
const BLOCK_ROWS = 22;
/** A full block has 520, one of three quarters 260: any eight characters of the value have 1,820, the five that pages cut it to 1,300. */
const BLOCKS_MIN = 1_560;

/** For each picture of one type, or each frame of a video file: whether it shows more than half of a value of green blocks. */
export async function blocksDrawn(of: readonly Buffer[] | string): Promise<boolean[]> {
  if (of.length === 0) return [];
  const from = typeof of === 'string' ? ['-i', of] : ['-f', 'image2pipe', '-i', 'pipe:0'];
  // The pages have nothing green elsewhere; pictures of an element are smaller.
  const filter = `pad=w=max(iw\\,${WIDTH}):h=max(ih\\,${HEIGHT}):color=white,crop=${WIDTH}:${HEIGHT}:0:0`;
  const child = spawn(ffmpeg, ['-loglevel', 'error', ...from, ...rawPictures(filter)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  child.stdin.on('error', () => undefined); // it has exited: its code says why
  child.stdin.end(typeof of === 'string' ? undefined : Buffer.concat(of));
  const shown: boolean[] = [];
  const frame = Buffer.alloc(WIDTH * HEIGHT * 3);
  let filled = 0;
  for await (const chunk of child.stdout as AsyncIterable<Buffer>)
    for (let at = 0; at < chunk.length; ) {
      const copied = chunk.copy(frame, filled, at);
      at += copied;
      filled += copied;
      if (filled < frame.length) continue;
      shown.push(inHighRuns(frame) > BLOCKS_MIN);
      filled = 0;
    }
  const [code] = await exited;
  if (code !== 0 || shown.length === 0) throw new Error(`ffmpeg exited with ${code} after ${shown.length} frames`);
  return shown;
}

/** Green pixels in columns that are as high as a block. */
function inHighRuns(frame: Buffer): number {
  const runs = new Uint16Array(WIDTH);
  let count = 0;
  for (let row = 0, at = 0; row < HEIGHT; row += 1)
    for (let x = 0; x < WIDTH; x += 1, at += 3) {
      const isGreen = (frame[at] ?? 0) < 130 && (frame[at + 1] ?? 0) > 140 && (frame[at + 2] ?? 0) < 130;
      const run = isGreen ? (runs[x] ?? 0) + 1 : 0;
      runs[x] = run;
      if (run >= BLOCK_ROWS) count += run === BLOCK_ROWS ? BLOCK_ROWS : 1;
    }
  return count;
}
