import type { CallToolResult } from '@modelcontextprotocol/server';
import { codeOfEvent } from '../../contract/tool-codes.ts';
import { CODE_META } from '../../contract/tool-failure.ts';
import { type Redact, redactJson } from '../reporting/redact.ts';
import { callSpan } from '../reporting/trace.ts';
import type { CallLease } from './call-lease.ts';
import type { PageFacts } from './page-facts.ts';
import type { Stage } from './stage.ts';

const NAME_CHARACTERS_MAX = 128;

/** Writes the call to the timeline, without secrets. */
export const record =
  ({ events, redact, clock }: Pick<CallLease, 'events' | 'redact' | 'clock'>): Stage =>
  async (call, next) => {
    const span = callSpan(call.caller.traceparent);
    const startMs = clock.nowMs();
    const result = await next();
    const { verdict, page } = call;
    const code = result._meta?.[CODE_META];
    events.add('tool.call', {
      tool: redact(call.name).slice(0, NAME_CHARACTERS_MAX),
      arguments: redactJson(call.given, redact),
      outcome: verdict === undefined ? (result.isError ? 'error' : 'ok') : 'blocked',
      duration_ms: Math.round(clock.nowMs() - startMs),
      ...(page && redactFacts(page, redact)),
      ...span,
      ...(typeof code === 'string' ? { code: codeOfEvent(code) } : {}),
      ...(result.isError ? { error: redactJson(firstText(result), redact) } : {}),
      ...(verdict === undefined ? {} : { layer: verdict.layer, rule: verdict.index }),
    });
    return result;
  };

const redactFacts = (page: PageFacts, redact: Redact) =>
  Object.fromEntries(Object.entries(page).map(([name, value]) => [name, redactJson(value, redact)]));

const firstText = ({ content: [first] }: CallToolResult): string => (first?.type === 'text' ? first.text : '');
