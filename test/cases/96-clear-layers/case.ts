import { defineCase } from '../case.ts';

const click = (target: string, shows: RegExp) => ({ tool: 'browser_click', args: { target }, shows });

export default defineCase({
  title: 'a layer that nobody sees takes the click, one that is seen is told',
  steps: () => [
    click('#title', /Went to #soup/),
    click('#upload button', /Clear: chosen/),
    click('#name', /Card: opened/),
    { ...click('#under', /covered/), hides: /Wrong/ },
  ],
});
