import type { CallToolResult } from '@modelcontextprotocol/server';
import { codeOfEvent, isKnownToolCode } from '../../contract/tool-codes.ts';
import { CODE_META } from '../../contract/tool-failure.ts';
import type { Span } from '../../process/span.ts';
import { type Redact, redactJson } from '../reporting/redact.ts';
import { inAgentSpan } from './agent-span.ts';
import type { CallLease } from './call-lease.ts';
import type { PageFacts } from './page-facts.ts';
import type { Call, Stage } from './stage.ts';

const NAME_CHARACTERS_MAX = 128;

/** Writes the call to the timeline, without secrets. */
export const record =
  ({ events, redact, clock, browser }: Pick<CallLease, 'events' | 'redact' | 'clock' | 'browser'>): Stage =>
  async (call, next) => {
    const startMs = clock.nowMs();
    const { result, ids } = await inAgentSpan('tools/call', call.caller, browser.spans, async (span, ids) => {
      const result = await next();
      describe(span, call, result);
      return { result, ids };
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
function describe(span: Span, { admitted }: Call, { isError, _meta }: CallToolResult): void {
  const tool = admitted?.tool.definition.name;
  const code = codeOfEvent(String(_meta?.[CODE_META] ?? ''));
  if (tool !== undefined) span.rename(`tools/call ${tool}`);
  span.set({
    'gen_ai.operation.name': 'execute_tool',
    ...(tool === undefined ? {} : { 'gen_ai.tool.name': tool }),
    ...(isError ? { 'error.type': isKnownToolCode(code) ? code : '_OTHER' } : {}),
  });
}

const redactFacts = (page: PageFacts, redact: Redact) =>
  Object.fromEntries(Object.entries(page).map(([name, value]) => [name, redactJson(value, redact)]));

const firstText = ({ content: [first] }: CallToolResult): string => (first?.type === 'text' ? first.text : '');
