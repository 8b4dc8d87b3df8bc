import { DEVELOPER_WORDS, defineCase, reads, type Step } from '../case.ts';

const types: Step = { tool: 'browser_type', args: { target: '#d', text: '2026-05-01' }, hides: DEVELOPER_WORDS };

// Skyvern-AI/skyvern#1523
export default defineCase({
  title: 'a field that takes no text says why, and what opens it',
  steps: () => [
    { ...types, shows: [/field_refused/, /read-only/, /Click it: it may open a picker/] },
    reads('Object.assign(d, {readOnly: false, disabled: true}).disabled', /true/),
    { ...types, shows: /disabled/ },
    reads('Object.assign(d, {disabled: false}).closest("body").inert = true', /true/),
    { ...types, shows: [/field_refused/, /inert/] },
    reads('document.body.inert = false', /false/),
    types,
    reads('d.value', /2026-05-01/),
  ],
});
