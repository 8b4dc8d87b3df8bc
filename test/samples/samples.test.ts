import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { pythonOf } from '../../local/test-tools.ts';
import { filesOf, pages } from '../docs/files.ts';
import { type Sample, samplesOf } from '../docs/samples.ts';
import { ROOT, run } from '../local/machine.ts';
import { type SiteStack, startSiteStack } from '../local/site-stack.ts';

// The samples of the documentation, each as it stands, on one stack. Names that a sample takes from its reader's program are defined before it.

const SAMPLES = [...(await pages()), ...(await filesOf(['clients'], /README\.md$/))]
  .flatMap(([page, text]) => samplesOf(page, text))
  .filter(({ mark }) => mark === 'run');

/** The reader's program around a sample in TypeScript. */
const AROUND_TS = `
import { createMCPClient } from '@ai-sdk/mcp';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { BrowserSessions as Sessions } from '${join(ROOT, 'client', 'index.ts')}';
const { ${ENV.controllerUrl}: url, ${ENV.serviceSecret}: serviceSecret } = process.env;
const sessions = new Sessions({ url, serviceSecret });
const browser = await sessions.connect({ userId: 'ada', conversationId: 'reader' });
const { sessionId } = browser.lease;
await sessions.putFile(sessionId, 'invoice.pdf', new Uint8Array(8));
Object.assign(globalThis, {
  createMCPClient, Client, StreamableHTTPClientTransport, url, serviceSecret, sessions, browser, sessionId,
  userId: 'ada', conversationId: 'chat-1', bytes: new Uint8Array(8), signal: new AbortController().signal,
});
`;

/** The reader's program around a sample in Python, whose code may await. */
const aroundPython = (text: string): string => `
import asyncio, os
url, service_secret = os.environ["${ENV.controllerUrl}"], os.environ["${ENV.serviceSecret}"]
async def main():
    from omicron_browser import AsyncBrowserSessions
    ${text.includes('sessions = ') ? '' : 'sessions = AsyncBrowserSessions(url, service_secret)'}
${text.replaceAll(/^(?=.)/gm, '    ')}
asyncio.run(main())
`;

describe('the samples of the documentation', { timeout: 60_000 }, () => {
  let on: SiteStack;
  let folder: string;
  beforeAll(async () => {
    on = await startSiteStack(() => ({ settings: { [ENV.userLimit]: '9' } }));
    folder = join(ROOT, '.omicron', 'samples');
    await mkdir(folder, { recursive: true });
  }, 60_000);
  afterEach(async () => {
    for (const { session_id } of (await on.sessions.list({ status: 'ready' })).sessions)
      await on.sessions.end(session_id);
  });
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
    await on?.[Symbol.asyncDispose]();
  });

  const runSample = async ({ language, text }: Sample, name: string) => {
    const here = text
      .replaceAll('https://example.com', on.site.url)
      .replaceAll('http://browser-session-controller:8080', on.stack.url);
    const env = { [ENV.controllerUrl]: on.stack.url, [ENV.serviceSecret]: on.stack.serviceSecret };
    if (language === 'python') {
      const file = join(folder, `${name}.py`);
      await writeFile(file, aroundPython(here));
      const python = pythonOf(ROOT, text.includes('from agents') ? 'python_mcp_2' : 'python_sdk');
      const path = join(ROOT, 'clients', 'python', 'src');
      return run(python, [file], { env: { ...env, PYTHONPATH: path, PYTHONDONTWRITEBYTECODE: '1' } });
    }
    const around = join(folder, `${name}-around.ts`);
    const file = join(folder, `${name}.ts`);
    await writeFile(around, AROUND_TS);
    const imported = here.replaceAll("'omicron-browser'", `'${join(ROOT, 'client', 'index.ts')}'`);
    await writeFile(file, `import './${name}-around.ts';\n${imported}\nprocess.exit(0);\n`);
    return run(process.execPath, [file], { env });
  };

  it.each(SAMPLES.map((sample, index) => [sample.place, sample, `sample-${index}`] as const))(
    '%s',
    async (_place, sample, name) => {
      const { code, stdout, stderr } = await runSample(sample, name);
      expect(code, `${stdout}${stderr}`).toBe(0);
      expect(stderr.replaceAll(/^.*(?:Warning|node --trace-warnings).*$/gm, '').trim()).toBe('');
      if (/\bprint\(browser|console\.log\(page/.test(sample.text)) expect(stdout).toContain('heading');
    },
  );
});
