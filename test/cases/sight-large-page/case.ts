import { defineCase, opens } from '../case.ts';

export default defineCase({
  title: 'a page of more than 10,000 elements begins with its main part',
  steps: at => [{ ...opens(at), shows: [/elements: too many/, /this is the main part/, /button "Pay" \[ref=\w+\]/] }],
});
