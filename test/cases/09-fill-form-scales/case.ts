import { DEVELOPER_WORDS, defineCase, reads, type Step } from '../case.ts';

const fill = (target: string, value: unknown, shows: Step['shows'] = []): Step => ({
  tool: 'browser_fill_form',
  args: { fields: [{ name: 'it', type: 'textbox', target: `ref of ${target}`, value }] },
  shows,
  hides: DEVELOPER_WORDS,
});

export default defineCase({
  title: 'a slider takes the numbers on its scale alone, and a list of several takes them in one text',
  steps: () => [
    fill('slider "Amount"', '37', [/from 0 to 50 in steps of 5: 37 is not on it/, /Give 35 or 40/]),
    reads('document.querySelector("input").value', /"25"/),
    fill('slider "Amount"', 60, /Give 50\./),
    fill('slider "Amount"', 40, /: 40/),
    fill('slider "Share"', '0.3', /: 0\.3/),
    fill('slider "Any"', '3.14', /: 3\.14/),
    fill('spinbutton "Price"', '1,234.50', /: 1234\.50/),
    fill('listbox "Tags"', 'red; blue'),
    reads('[...tags.selectedOptions].map(each => each.text).join("|")', /"Red\|Blue"/),
    fill('listbox "Tags"', 'Green, light'),
    reads('[...tags.selectedOptions].map(each => each.text).join("|")', /"Green, light"/),
    fill('listbox "Tags"', 'Red, Pink', /No option is "Red, Pink"/),
    fill('switch "Dark"', 'enabled', /\[checked\]/),
    fill('slider "Volume"', 60, /slider "Volume" .*: 60/),
    fill('slider "Volume"', '8', /slider "Volume" .*: 8/),
    fill('slider "Volume"', 101, /It goes from 0 to 100/),
    fill('slider "Volume"', 10, /It has no place at 10; it is at 12/),
    fill('slider "Fixed"', 5, /Its arrow keys do not move it/),
    {
      tool: 'browser_click',
      args: { target: 'text=Send' },
      shows: /takes no clicks now: the page has switched off the part that it is in/,
      hides: /<body>/,
    },
  ],
});
