import { VIEWPORT_LIMITS } from '../../contract/page-options.ts';
import { invalidArguments } from '../results/result.ts';
import { defineTool } from './define-tool.ts';
import type { Run } from './playwright-form.ts';

const { widthMax, heightMax } = VIEWPORT_LIMITS;

/** A larger page takes gigabytes to paint, and its tab would be closed for that. Playwright MCP refuses what is no size. */
const resizeWindow: Run = async ({ width, height, ...rest }, call) => {
  if (Number(width) * Number(height) > widthMax * heightMax)
    return invalidArguments(
      `A window has at most as many pixels as ${widthMax} by ${heightMax}: ${width} by ${height} is larger.`,
    );
  return call.ask({ ...rest, width: toWhole(width), height: toWhole(height) });
};

const toWhole = (value: unknown): unknown => (typeof value === 'number' ? Math.round(value) : value);

export const resize = defineTool({
  name: 'browser_resize',
  seconds: 10,
  effect: 'moves',
  whileTainted: 'open',
  shorter: null,
  playwright: {
    sets: ['playwright', 'both'],
    title: 'Resize browser window',
    description: 'Resize the window',
    args: {},
    unlisted: [],
    settles: 'nothing',
    snapshotAfter: false,
    run: resizeWindow,
  },
});
