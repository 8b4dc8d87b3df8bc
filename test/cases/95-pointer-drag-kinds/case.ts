import { defineCase, reads } from '../case.ts';

const drag = (startTarget: string, endTarget: string) => ({ tool: 'browser_drag', args: { startTarget, endTarget } });

// web-infra-dev/midscene#1509, microsoft/playwright#31523
export default defineCase({
  title:
    'cards that begin to move after some pixels and a slider of mouse events are dragged, by targets and by points',
  steps: at => [
    { ...drag('#a', '#d'), shows: /BCA moves \d\d/ },
    { tool: 'browser_navigate', args: { url: at.url } },
    { tool: 'browser_mouse_drag_xy', args: { startX: 60, startY: 25, endX: 60, endY: 95 }, shows: /B.*A.* moves \d\d/ },
    drag('#kn', '#end'),
    reads('kn.ariaValueNow', /"180"/),
  ],
});
