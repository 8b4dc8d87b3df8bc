import * as z from 'zod';

/** Id of a trace and of a span, in hex: https://www.w3.org/TR/trace-context/#trace-id */
export const traceId = z.string().regex(/^[\da-f]{32}$/);
export const spanId = z.string().regex(/^[\da-f]{16}$/);
