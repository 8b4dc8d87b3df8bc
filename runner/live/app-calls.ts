import type { CallToolResult } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { APP_TOOLS } from '../../contract/app-names.ts';
import type { LiveSocketAnswer } from '../../contract/live-exchange.ts';
import { refusalResult, toolFailure } from '../../contract/tool-failure.ts';
import { type UserActionChatAnswer, userActionChatAnswer } from '../../contract/user-action.ts';
import type { Exchanges } from './exchanges.ts';
import type { LiveView } from './live-view.ts';

/** Calls of the page in the chat. They are its person's, not the agent's: they wait for no call and are in no timeline. */
export interface AppCalls {
  /** Never rejects. */
  call(name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<CallToolResult>;
}

export interface AppCallsOptions {
  readonly live: Pick<LiveView, 'isFull'>;
  readonly exchanges: Exchanges;
  /** Address at which the page may open one socket; null: nowhere. */
  readonly socket: (signal: AbortSignal) => Promise<LiveSocketAnswer['socket']>;
  /** Answers what the agent asks; the first answer counts. */
  readonly answer: (id: string, answer: UserActionChatAnswer, signal: AbortSignal) => Promise<void>;
}

const answerArguments = userActionChatAnswer.extend({ id: z.uuid() });

export function appCalls({ live, exchanges, socket, answer }: AppCallsOptions): AppCalls {
  async function run(name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<CallToolResult> {
    if (name === APP_TOOLS.answer) {
      const { id, ...given } = answerArguments.parse(args);
      await answer(id, given, signal);
      return structuredAnswer({});
    }
    if (args.viewer === undefined && live.isFull()) return FULL;
    if (name === APP_TOOLS.socket) return structuredAnswer({ socket: await socket(signal) });
    const told = await exchanges.exchange(args, signal);
    return told === undefined ? UNKNOWN_VIEWER : structuredAnswer(told);
  }
  return {
    call: (name, args, signal) =>
      run(name, args, signal).catch((error: unknown) =>
        error instanceof z.ZodError
          ? toolFailure('invalid_arguments', z.prettifyError(error))
          : toolFailure('action_failed', error instanceof Error ? error.message : 'The call failed.'),
      ),
  };
}

/** Read only by the in-chat page; hosts forward no text. */
const structuredAnswer = (structuredContent: Record<string, unknown>): CallToolResult => ({
  content: [],
  structuredContent,
});

const FULL = refusalResult({
  code: 'capacity_exceeded',
  why: 'The browser has as many viewers as it may have.',
  instead: 'Close another view of it.',
});
const UNKNOWN_VIEWER = refusalResult({
  code: 'viewer_unknown',
  why: 'This viewer was closed a while ago.',
  instead: 'Begin again without its name.',
});
