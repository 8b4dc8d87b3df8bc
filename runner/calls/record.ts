import type { CallToolResult } from '@modelcontextprotocol/server';
import { codeOfEvent, isKnownToolCode } from '../../contract/tool-codes.ts';
import { CODE_META } from '../../contract/tool-failure.ts';
import type { SpanAttributes } from '../../process/span.ts';
import { inSpan } from '../../process/tracing.ts';
import { type Redact, redactJson } from '../reporting/redact.ts';
import { callSpan } from '../reporting/trace.ts';
import type { CallLease } from './call-lease.ts';
import type { PageFacts } from './page-facts.ts';
import type { Call, Stage } from './stage.ts';

const NAME_CHARACTERS_MAX = 128;

/** Writes the call to the timeline, without secrets. */
export const record =
  ({ events, redact, clock, browser }: Pick<CallLease, 'events' | 'redact' | 'clock' | 'browser'>): Stage =>
  async (call, next) => {
    const { traceparent } = call.caller;
    const startMs = clock.nowMs();
    const { result, ids } = await inSpan('tools/call', { kind: 'server', parent: traceparent }, async span => {
      const stop = browser.spans.beginCall(span);
      const result = await next().finally(stop);
      span.set(spanOf(call, result));
      return { result, ids: span.ids ?? callSpan(traceparent) };
    });
    const { verdict, page } = call;
    const code = result._meta?.[CODE_META];
    events.add('tool.call', {
      tool: redact(call.name).slice(0, NAME_CHARACTERS_MAX),
      arguments: redactJson(call.given, redact),
      outcome: verdict === undefined ? (result.isError ? 'error' : 'ok') : 'blocked',
      duration_ms: Math.round(clock.nowMs() - startMs),
      ...(page && redactFacts(page, redact)),
      ...ids,
      ...(typeof code === 'string' ? { code: codeOfEvent(code) } : {}),
      ...(result.isError ? { error: redactJson(firstText(result), redact) } : {}),
      ...(verdict === undefined ? {} : { layer: verdict.layer, rule: verdict.index }),
    });
    return result;
  };

/** Names of tools and codes are this product's own; one that an agent made up is left out. */
function spanOf({ admitted }: Call, { isError, _meta }: CallToolResult): SpanAttributes {
  const code = codeOfEvent(String(_meta?.[CODE_META] ?? ''));
  return {
    'mcp.method.name': 'tools/call',
    'gen_ai.operation.name': 'execute_tool',
    ...(admitted === undefined ? {} : { 'gen_ai.tool.name': admitted.tool.definition.name }),
    ...(isError ? { 'error.type': isKnownToolCode(code) ? code : '_OTHER' } : {}),
  };
}

const redactFacts = (page: PageFacts, redact: Redact) =>
  Object.fromEntries(Object.entries(page).map(([name, value]) => [name, redactJson(value, redact)]));

const firstText = ({ content: [first] }: CallToolResult): string => (first?.type === 'text' ? first.text : '');
