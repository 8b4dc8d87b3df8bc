import { expect, test } from 'vitest';
import { callSpan } from '../../../runner/reporting/trace.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';

test('a call’s span is below its client’s', () => {
  for (const given of [`00-${TRACE}-${PARENT}-01`, `00-${TRACE}-${PARENT}-00`, `cc-${TRACE}-${PARENT}-01-later`])
    expect(callSpan(given)).toEqual({
      trace_id: TRACE,
      span_id: expect.stringMatching(/^[\da-f]{16}$/),
      parent_span_id: PARENT,
    });
  expect(callSpan(`00-${TRACE}-${PARENT}-01`).span_id).not.toBe(callSpan(`00-${TRACE}-${PARENT}-01`).span_id);
});

test.each([
  undefined,
  7,
  '',
  `00-${TRACE}-${PARENT}`,
  `00-${TRACE}-${PARENT}-01-more`,
  `ff-${TRACE}-${PARENT}-01`,
  `00-${TRACE.toUpperCase()}-${PARENT}-01`,
  `00-${'0'.repeat(32)}-${PARENT}-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
  `00-${TRACE}-${PARENT}-01\n`,
])('%j begins a trace of its own', given => {
  const span = callSpan(given);
  expect(span).toEqual({
    trace_id: expect.stringMatching(/^[\da-f]{32}$/),
    span_id: expect.stringMatching(/^[\da-f]{16}$/),
  });
  expect(span.trace_id).not.toBe(TRACE);
});
