import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { newFolder } from '../local/machine.ts';
import { runHere } from './run-here.ts';

describe('policy test, on a file and without a controller', () => {
  let file: string;
  beforeAll(async () => {
    file = join(await newFolder(), 'policy.json');
    await writeFile(
      file,
      JSON.stringify({
        version: 1,
        tools: [
          { tools: ['browser_*'], action: 'allow' },
          {
            tools: ['browser_navigate'],
            when: [{ path: 'url', operator: 'startsWith', value: 'http://' }],
            action: 'block_always',
            reason: 'Encrypted sites only.',
          },
        ],
      }),
    );
  });
  const test = (...args: string[]) => runHere(['policy', 'test', ...args], { environment: {} });

  it('names the rule that blocks, and the other rules that match', async () => {
    const { code, stdout } = await test('browser_navigate', '{"url": "http://example.com"}', '--file', file);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      action: 'block',
      layer: 'deployment',
      rule: 1,
      reason: expect.stringContaining('Encrypted sites only.'),
      explained: [
        expect.stringMatching(/^block: /),
        'also matches: deployment tools[0] (allow)',
        expect.stringContaining('the site: no policy refuses it'),
      ],
    });
  });

  it('allows what no rule blocks', async () => {
    const { stdout } = await test('browser_navigate', '{"url": "https://example.com"}', '--file', file);
    expect(JSON.parse(stdout)).toMatchObject({ action: 'allow', rule: 0 });
  });

  it('judges the site of an address beside the tool', async () => {
    const sites = join(await newFolder(), 'sites.json');
    await writeFile(sites, JSON.stringify({ version: 1, sites: { deny: ['*.ads.example'], httpsOnly: true } }));
    const judged = async (url: string) =>
      JSON.parse((await test('browser_navigate', JSON.stringify({ url }), '--file', sites)).stdout);
    expect(await judged('https://www.ads.example/a')).toMatchObject({
      action: 'block',
      code: 'site_denied',
      layer: 'deployment',
      reason: 'the deployment policy denies *.ads.example, which covers www.ads.example',
    });
    expect(await judged('http://shop.example')).toMatchObject({ action: 'block', code: 'https_only' });
    expect(await judged('https://shop.example:8443')).toMatchObject({
      action: 'block',
      code: 'port_refused',
      layer: null,
    });
    expect(await judged('https://[2001:db8::1]/')).toMatchObject({
      action: 'allow',
      explained: [expect.any(String), expect.stringContaining('internal networks')],
    });
  });

  it('says what is wrong with the command line or the file', async () => {
    const wrong = join(await newFolder(), 'wrong.json');
    await writeFile(wrong, '{"version": 1, "sites": {"deny": ["*.com"]}}');
    const faulty = await test('browser_navigate', '--file', wrong);
    expect(faulty).toMatchObject({ code: 2, stderr: expect.stringContaining('sites.deny[0]') });
    expect(await test('browser_navigate', 'no json', '--file', file)).toMatchObject({ code: 2 });
    expect(await test('browser_navigate')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--session, --user or --file'),
    });
    expect(await test('browser_navigate', '--file', '/nowhere.json')).toMatchObject({ code: 2 });
  });
});
