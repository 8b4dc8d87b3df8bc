import { defineCase } from '../case.ts';

const field = (role: string, name: string, value: string, more: object = {}) => ({
  ...{ type: role, name, value, target: `ref of ${role} "${name}"` },
  ...more,
});

// Agents name the role that a snapshot shows, which is often none of the five in the tool's schema.
export default defineCase({
  title: 'a form is filled whatever role of a snapshot an agent names as the type of a field',
  steps: () => [
    {
      tool: 'browser_fill_form',
      args: {
        fields: [
          field('switch', 'Alerts', 'on'),
          field('searchbox', 'Search', 'cups'),
          field('spinbutton', 'Guests', '4'),
          field('listbox', 'Days', 'tuesday'),
          { target: 'ref of textbox "City"', value: 'Graz' },
        ],
      },
      hides: /invalid_arguments|not one of/,
    },
    {
      tool: 'browser_snapshot',
      shows: [
        /switch "Alerts".*\[checked\]/,
        /searchbox "Search".*: cups/,
        /spinbutton "Guests".*: 4/,
        /option.*\[selected\].*: Tuesday/,
        /textbox "City".*: Graz/,
      ],
    },
  ],
});
