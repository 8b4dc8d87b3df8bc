import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import * as z from 'zod';

export interface ScriptedCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Happens before the model asks for the call. */
  readonly before?: () => Promise<unknown>;
}

/** A model behind OpenAI's API that calls these tools, one after the other, and then repeats what the last one answered. */
export interface ScriptedModel extends AsyncDisposable {
  /** For `OPENAI_BASE_URL`. */
  readonly url: string;
  script: readonly ScriptedCall[];
  /** Its instructions at the beginning of its last turn. */
  prompt: string;
}

// As much of <https://platform.openai.com/docs/api-reference> as says how far a turn is.
const content = z.union([z.string(), z.array(z.looseObject({ text: z.string().optional() })), z.null()]).optional();
const chat = z.object({ messages: z.array(z.looseObject({ role: z.string(), content })) });
const responses = z.object({
  instructions: z.string().default(''),
  input: z.array(z.looseObject({ type: z.string().optional(), output: content })),
});

const textOf = (given: z.infer<typeof content>): string =>
  typeof given === 'string' ? given : (given ?? []).map(({ text = '' }) => text).join('\n');

const USAGE = { total_tokens: 0, prompt_tokens: 0, completion_tokens: 0 };
const RESPONSES_USAGE = {
  ...{ input_tokens: 0, output_tokens: 0, total_tokens: 0 },
  ...{ input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } },
};

export async function scriptedModel(): Promise<ScriptedModel> {
  const server = createServer(async (request, response) => {
    const answer = await answerTo(request);
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
  });

  /** By the Chat Completions API, or the Responses API. */
  async function answerTo(request: IncomingMessage): Promise<object> {
    const body = await json(request);
    const created = Math.floor(Date.now() / 1000);
    if (request.url?.endsWith('/chat/completions')) {
      const { messages } = chat.parse(body);
      model.prompt = textOf(messages.find(({ role }) => role === 'system')?.content);
      const results = messages.filter(({ role }) => role === 'tool');
      const step = await nextStep(results.map(result => textOf(result.content)));
      const message =
        typeof step === 'string'
          ? { role: 'assistant', content: step }
          : {
              ...{ role: 'assistant', content: null },
              tool_calls: [{ id: `call_${results.length}`, type: 'function', function: step }],
            };
      const choice = { index: 0, message, finish_reason: typeof step === 'string' ? 'stop' : 'tool_calls' };
      return { id: 'chat', object: 'chat.completion', created, model: 'scripted', choices: [choice], usage: USAGE };
    }
    const { instructions, input } = responses.parse(body);
    model.prompt = instructions;
    const results = input.filter(({ type }) => type === 'function_call_output');
    const step = await nextStep(results.map(({ output }) => textOf(output)));
    const id = `item_${results.length}`;
    const item =
      typeof step === 'string'
        ? {
            ...{ id, type: 'message', role: 'assistant', status: 'completed' },
            content: [{ type: 'output_text', text: step, annotations: [] }],
          }
        : { id, type: 'function_call', call_id: id, status: 'completed', ...step };
    return {
      ...{ id: 'response', object: 'response', created_at: created, model: 'scripted', status: 'completed' },
      ...{ output: [item], tools: [], tool_choice: 'auto', parallel_tool_calls: false, usage: RESPONSES_USAGE },
    };
  }

  /** The call that is next, or the text that ends the turn. */
  async function nextStep(results: readonly string[]) {
    const next = model.script[results.length];
    await next?.before?.();
    return next === undefined
      ? `The browser says: ${results.at(-1)}`
      : { name: next.name, arguments: JSON.stringify(next.arguments) };
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const model: ScriptedModel = {
    url: `http://127.0.0.1:${port}/v1`,
    script: [],
    prompt: '',
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
  return model;
}
