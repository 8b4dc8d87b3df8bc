// One turn of a chat with the Vercel AI SDK: `node agent.ts ada chat-1 "What are my orders at the bakery?"`.
import { createMCPClient } from '@ai-sdk/mcp';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, isStepCount } from 'ai';
import { BrowserSessions } from '../../client/index.ts'; // 'omicron-browser' in an application

const {
  OMICRON_CONTROLLER_URL: url = '',
  OMICRON_SERVICE_JWT_SECRET: serviceSecret = '',
  OPENAI_BASE_URL: baseURL = 'https://api.openai.com/v1',
  OPENAI_API_KEY: apiKey = '',
  MODEL: model = 'gpt-4.1',
} = process.env;
const [userId = '', conversationId = '', prompt = ''] = process.argv.slice(2);

const sessions = new BrowserSessions({ url, serviceSecret });
await using browser = await sessions.connect({ userId, conversationId });
const { mcpUrl, headers } = browser.lease;
const mcp = await createMCPClient({ transport: { type: 'http', url: mcpUrl, headers: { ...headers } } });
const { text } = await generateText({
  model: createOpenAICompatible({ name: 'model', baseURL, apiKey })(model),
  // the client drops the server's instructions, which name the user's credentials
  instructions: `You use a browser for your user. ${browser.instructions}`,
  prompt,
  tools: await mcp.tools(),
  stopWhen: isStepCount(30),
});
console.log(text);
await mcp.close();
