import { DEVELOPER_WORDS, defineCase, reads, type Step } from '../case.ts';

const selects = (...values: string[]): Step => ({ tool: 'browser_select_option', args: { target: '#s', values } });
const chosen = (value: string): Step => reads('s.value', new RegExp(`"${value}"`));

// openlegion-ai/openlegion#1215
export default defineCase({
  title: 'an option is chosen by its text in any case, and refused with those that there are',
  steps: () => [
    { tool: 'browser_select_option', args: { target: 'ref of combobox "Country"', values: ['france'] } },
    chosen('fr'),
    selects('Turkiye'),
    chosen('tr'),
    { ...selects('Spain'), shows: [/option_not_found/, /"Germany", "France", "Türkiye"/], hides: DEVELOPER_WORDS },
    { ...selects('Germany', 'France'), shows: /The list takes one option/ },
    chosen('tr'),
    { tool: 'browser_fill_form', args: { fields: [{ name: 'Country', target: '#s', type: 'combobox', value: 'fr' }] } },
    chosen('fr'),
    reads('s.append(new Option("France", "fx"), Object.assign(new Option("Spain"), {disabled: true}))', /Result/),
    { ...selects('France'), shows: [/2 options are/, /by value: "fr", "fx"/] },
    { ...selects('Spain'), shows: /The option "Spain" is disabled/ },
    chosen('fr'),
    selects('fx'),
    chosen('fx'),
  ],
});
