import { DEVELOPER_WORDS, defineCase, type Step } from '../case.ts';

const chooses = (city: string): Step => ({
  tool: 'browser_select_option',
  args: { target: 'ref of combobox "City"', values: [city] },
  shows: new RegExp(`chose ${city}`),
  hides: DEVELOPER_WORDS,
});

export default defineCase({
  title: 'a folded list that shows its chosen option offers the others too',
  steps: () => [
    chooses('Rome'),
    chooses('Berlin'),
    { ...chooses('Lima'), shows: [/option_not_found/, /"Paris", "Berlin", "Rome"/] },
  ],
});
