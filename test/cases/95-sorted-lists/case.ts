import { defineCase } from '../case.ts';

const drag = (from: string, to: string, place?: 'before' | 'after') => ({
  tool: 'browser_drag',
  args: { startTarget: `text="${from}"`, endTarget: `text="${to}"`, ...(place && { place }) },
});

export default defineCase({
  title: 'what is dragged comes before, after or into its target, after a hold too, and beyond what is seen',
  steps: () => [
    { ...drag('Four', 'Two', 'before'), shows: /Order: One Four Two Three/ },
    { ...drag('One', 'Two', 'after'), shows: /Order: Four Two One Three/ },
    { ...drag('Blue', 'Red', 'before'), shows: /Order: Blue Red Green/ },
    { ...drag('Blue', 'Green', 'after'), shows: /Order: Red Green Blue/ },
    { ...drag('Hold', 'Other'), shows: /Held: Other Hold/ },
    { ...drag('Three', 'Far'), shows: /Far: Three/ },
  ],
});
