import { describe, expect, it } from 'vitest';
import { parsePolicy } from '../../../contract/policy/document.ts';
import { POLICY_PRESETS, withPresets } from '../../../contract/policy/presets.ts';
import type { PolicyLayer } from '../../../contract/policy/sites.ts';
import { coversTool, decideToolCall, explainToolCall } from '../../../contract/policy/tools.ts';

const SESSION = '0198f6a0-7a3b-7cc1-b0b1-3f2f5e0c8a11';
const layered = (layers: Partial<Record<PolicyLayer, object>>) =>
  Object.entries(layers).map(([layer, policy]) => ({
    layer: layer as PolicyLayer,
    policy: parsePolicy({ version: 1, ...policy }),
  })); // keys are layers
const call = (tool: string, args: Record<string, unknown> = {}) => ({ tool, arguments: args, sessionId: SESSION });
const rule = (action: string, tools: string[], ...when: object[]) => ({ action, tools, when });
const on = (path: string, operator: string, value: unknown) => ({ path, operator, value });
const one = (...tools: object[]) => ({ session: { tools } });
const nav = (url: unknown) => call('browser_navigate', { url });

const BLOCK = 'block_always';
const ALLOW = 'allow';
const PASS = 'allow_when_context_is_untrusted';

describe('a table of calls and verdicts', () => {
  const evil = on('url', 'contains', 'evil');
  const verdicts: [
    string,
    Partial<Record<PolicyLayer, object>>,
    ReturnType<typeof call>,
    boolean,
    'allow' | 'block',
  ][] = [
    ['no policy allows', {}, nav('https://a.example/'), true, 'allow'],
    ['a profile tool that no rule names', one(rule(ALLOW, ['*'])), call('setProfile'), false, 'block'],
    ['a profile tool by name', one(rule(ALLOW, ['setProfile'])), call('setProfile'), false, 'allow'],
    [
      'a profile tool by name, once blocked',
      { user: { tools: [rule(BLOCK, ['set*'])] }, ...one(rule(ALLOW, ['setProfile'])) },
      call('setProfile'),
      false,
      'block',
    ],
    ['block by name', one(rule(BLOCK, ['browser_navigate'])), nav('x'), false, 'block'],
    ['block of another tool', one(rule(BLOCK, ['browser_click'])), nav('x'), false, 'allow'],
    ['block by pattern', one(rule(BLOCK, ['browser_*'])), nav('x'), false, 'block'],
    ['pattern in the middle', one(rule(BLOCK, ['browser_*gate'])), nav('x'), false, 'block'],
    ['pattern that needs more', one(rule(BLOCK, ['browser_navigate_*'])), nav('x'), false, 'allow'],
    ['exception of a pattern', one({ ...rule(BLOCK, ['*']), except: ['browser_nav*'] }), nav('x'), false, 'allow'],
    [
      'block beats allow in one layer',
      one(rule(ALLOW, ['browser_navigate']), rule(BLOCK, ['*'])),
      nav('x'),
      false,
      'block',
    ],
    ['block beats the pass', one(rule(PASS, ['browser_navigate']), rule(BLOCK, ['*'])), nav('x'), true, 'block'],
    [
      'block of the deployment stands',
      { deployment: { tools: [rule(BLOCK, ['*'])] }, session: { tools: [rule(ALLOW, ['browser_navigate'])] } },
      nav('x'),
      false,
      'block',
    ],
    [
      'block of the session stands',
      { deployment: { tools: [rule(ALLOW, ['*'])] }, session: { tools: [rule(BLOCK, ['browser_navigate'])] } },
      nav('x'),
      false,
      'block',
    ],
    ['condition holds', one(rule(BLOCK, ['*'], evil)), nav('https://evil.example/'), false, 'block'],
    ['condition does not hold', one(rule(BLOCK, ['*'], evil)), nav('https://good.example/'), false, 'allow'],
    [
      'all conditions must hold',
      one(rule(BLOCK, ['*'], evil, on('url', 'startsWith', 'http:'))),
      nav('https://evil.example/'),
      false,
      'allow',
    ],
    ['absent argument, positive operator', one(rule(BLOCK, ['*'], evil)), call('browser_click'), false, 'allow'],
    [
      'absent argument, opposite operator',
      one(rule(BLOCK, ['*'], on('url', 'notContains', 'good'))),
      call('browser_click'),
      false,
      'block',
    ],
    [
      'startsWith',
      one(rule(BLOCK, ['*'], on('url', 'startsWith', 'file:'))),
      nav('file:///etc/passwd'),
      false,
      'block',
    ],
    ['notStartsWith', one(rule(BLOCK, ['*'], on('url', 'notStartsWith', 'https:'))), nav('http://a'), false, 'block'],
    ['endsWith', one(rule(BLOCK, ['*'], on('url', 'endsWith', '.exe'))), nav('https://a/b.exe'), false, 'block'],
    [
      'notEndsWith',
      one(rule(BLOCK, ['*'], on('url', 'notEndsWith', '.html'))),
      nav('https://a/b.html'),
      false,
      'allow',
    ],
    [
      'equal to a number',
      one(rule(BLOCK, ['*'], on('index', 'equal', 3))),
      call('browser_tabs', { index: 3 }),
      false,
      'block',
    ],
    [
      'equal to a boolean',
      one(rule(BLOCK, ['*'], on('fullPage', 'equal', true))),
      call('browser_screenshot', { fullPage: true }),
      false,
      'block',
    ],
    ['notEqual', one(rule(BLOCK, ['*'], on('url', 'notEqual', 'https://a/'))), nav('https://a/'), false, 'allow'],
    [
      'in_list',
      one(rule(BLOCK, ['browser_login'], on('domain', 'in_list', ['evil.com']))),
      call('browser_login', { domain: 'evil.com' }),
      false,
      'block',
    ],
    [
      'not_in_list',
      one(rule(BLOCK, ['browser_login'], on('domain', 'not_in_list', ['github.com']))),
      call('browser_login', { domain: 'gitlab.com' }),
      false,
      'block',
    ],
    [
      'regex finds anywhere',
      one(rule(BLOCK, ['*'], on('url', 'regex', '(?i)INTERNAL'))),
      nav('https://x.internal/'),
      false,
      'block',
    ],
    ['notRegex', one(rule(BLOCK, ['*'], on('url', 'notRegex', '^https://'))), nav('http://a'), false, 'block'],
    [
      'nested path',
      one(rule(BLOCK, ['*'], on('a.b.c', 'equal', 'x'))),
      call('t', { a: { b: { c: 'x' } } }),
      false,
      'block',
    ],
    [
      'index in a path',
      one(rule(BLOCK, ['*'], on('fields.1.value', 'equal', 'x'))),
      call('t', { fields: [{ value: 'y' }, { value: 'x' }] }),
      false,
      'block',
    ],
    [
      'any element',
      one(rule(BLOCK, ['*'], on('fields.*.value', 'contains', 'x'))),
      call('t', { fields: [{ value: 'y' }, { value: 'x' }] }),
      false,
      'block',
    ],
    [
      'what lies below the path',
      one(rule(BLOCK, ['*'], evil)),
      nav(['https://good', { deep: ['evil'] }]),
      false,
      'block',
    ],
    [
      'no inherited property',
      one(rule(BLOCK, ['*'], on('constructor.name', 'equal', 'Object'))),
      call('t', {}),
      false,
      'allow',
    ],
    ['no inherited length', one(rule(BLOCK, ['*'], on('url.length', 'equal', 1))), nav('x'), false, 'allow'],
    ['default of the session', { session: { defaults: { tools: BLOCK } } }, nav('x'), false, 'block'],
    [
      'rule before default',
      { session: { defaults: { tools: BLOCK }, tools: [rule(ALLOW, ['browser_navigate'])] } },
      nav('x'),
      false,
      'allow',
    ],
    [
      'most specific default',
      { deployment: { defaults: { tools: BLOCK } }, session: { defaults: { tools: ALLOW } } },
      nav('x'),
      false,
      'allow',
    ],
    [
      'rule of any layer before default',
      { deployment: { defaults: { tools: BLOCK } }, user: { tools: [rule(ALLOW, ['*'])] } },
      nav('x'),
      false,
      'allow',
    ],
    ['untrusted: allow is enough by default', one(rule(ALLOW, ['*'])), nav('x'), true, 'allow'],
    [
      'untrusted: allow is not enough under quarantine',
      { deployment: { defaults: { untrustedContext: 'block' } }, session: { tools: [rule(ALLOW, ['*'])] } },
      nav('x'),
      true,
      'block',
    ],
    [
      'untrusted: no rule under quarantine',
      { deployment: { defaults: { untrustedContext: 'block' } } },
      nav('x'),
      true,
      'block',
    ],
    [
      'untrusted: the pass passes',
      { deployment: { defaults: { untrustedContext: 'block' }, tools: [rule(PASS, ['browser_*'])] } },
      nav('x'),
      true,
      'allow',
    ],
    [
      'untrusted: a wider pass stands behind a narrower allow',
      {
        deployment: { defaults: { untrustedContext: 'block' }, tools: [rule(PASS, ['browser_*'])] },
        session: { tools: [rule(ALLOW, ['browser_navigate'])] },
      },
      nav('x'),
      true,
      'allow',
    ],
    [
      'untrusted: quarantine of any layer',
      { user: { defaults: { untrustedContext: 'block' } }, session: { defaults: { untrustedContext: 'allow' } } },
      nav('x'),
      true,
      'block',
    ],
    [
      'trusted: quarantine does not matter',
      { deployment: { defaults: { untrustedContext: 'block' } } },
      nav('x'),
      false,
      'allow',
    ],
    ['the session id stands in', one(rule(BLOCK, ['*'], on('sessionId', 'equal', SESSION))), nav('x'), false, 'block'],
    [
      'the session id that the caller gave',
      one(rule(BLOCK, ['*'], on('sessionId', 'equal', 'browser-a-1'))),
      call('t', { sessionId: 'browser-a-1' }),
      false,
      'block',
    ],
  ];
  it.each(verdicts)('%s', (_name, layers, asked, untrusted, expected) => {
    expect(decideToolCall(layered(layers), asked, { untrusted }).action).toBe(expected);
  });
});

describe('which rule decides', () => {
  const layers = layered({
    deployment: {
      tools: [
        rule(ALLOW, ['*']),
        { ...rule(BLOCK, ['browser_*'], on('url', 'contains', 'evil')), reason: 'evil is blocked' },
      ],
    },
    user: { tools: [rule(ALLOW, ['browser_*'])] },
    session: {
      tools: [
        rule(ALLOW, ['browser_*']),
        rule(ALLOW, ['browser_navigate']),
        rule(ALLOW, ['browser_navigate'], on('url', 'startsWith', 'https:')),
      ],
    },
  });

  it('is the most specific allow: layer, then name, then conditions', () => {
    expect(decideToolCall(layers, nav('https://a'), { untrusted: false })).toMatchObject({
      layer: 'session',
      index: 2,
    });
    expect(decideToolCall(layers, nav('http://a'), { untrusted: false })).toMatchObject({ layer: 'session', index: 1 });
    expect(decideToolCall(layers, call('browser_click'), { untrusted: false })).toMatchObject({
      layer: 'session',
      index: 0,
    });
    expect(decideToolCall(layers, call('other'), { untrusted: false })).toMatchObject({
      layer: 'deployment',
      index: 0,
    });
  });

  it('is explained in sentences, with what else matched', () => {
    expect(explainToolCall(layers, nav('https://evil'), { untrusted: false })).toEqual([
      "block: The deployment policy's rule tools[1] blocks browser_navigate: evil is blocked",
      'also matches: session tools[2] (allow)',
      'also matches: session tools[1] (allow)',
      'also matches: session tools[0] (allow)',
      'also matches: user tools[0] (allow)',
      'also matches: deployment tools[0] (allow)',
    ]);
    expect(explainToolCall([], nav('x'), { untrusted: false })).toEqual([
      'allow: No rule matches; calls are allowed by default.',
    ]);
  });
});

describe('[P4] the policy defaults offered at installation', () => {
  const preset = (name: keyof typeof POLICY_PRESETS) => [
    { layer: 'deployment' as const, policy: POLICY_PRESETS[name].policy },
  ];
  const decide = (name: keyof typeof POLICY_PRESETS, asked: ReturnType<typeof call>, untrusted = true) =>
    decideToolCall(preset(name), asked, { untrusted }).action;

  it('chain-allowlist lets browser tools of a valid session chain, and nothing else once content was read', () => {
    expect(decide('chain-allowlist', call('browser_click'))).toBe('allow');
    expect(
      decide(
        'chain-allowlist',
        call('browser_click', { sessionId: 'browser-a1b2c3d4-e5f6-7890-abcd-ef1234567890-1701234567890' }),
      ),
    ).toBe('allow');
    expect(decide('chain-allowlist', call('browser_click', { sessionId: 'browser-a1; rm' }))).toBe('block');
    expect(decide('chain-allowlist', call('send_mail'))).toBe('block');
    expect(decide('chain-allowlist', call('send_mail'), false)).toBe('allow');
  });

  it.each([
    ...[
      'http://localhost/',
      'localhost:3000',
      'http://LOCALHOST.',
      'http://127.0.0.1/',
      'http://10.0.0.1/',
      'http://192.168.1.1',
      'http://172.16.0.1',
      'http://172.31.0.1',
      'http://169.254.169.254/latest',
    ],
    ...[
      'http://[::1]/',
      'http://0.0.0.0',
      'http://2130706433/',
      'http://0x7f000001/',
      'http://u:p@127.0.0.1',
      'http:\\\\10.0.0.1',
      'https://metadata.google.internal/',
      'http://kubernetes.default.svc/',
      'http://printer.local',
    ],
    ...[
      'file:///etc/passwd',
      ' FILE:///x',
      'view-source:https://a',
      'chrome://settings',
      'devtools://x',
      'ftp://a',
      'javascript:alert(1)',
      'data:text/html,x',
    ],
  ])('ssrf blocks %s', url => {
    expect(decide('ssrf', nav(url))).toBe('block');
  });

  it.each([
    'https://example.com/',
    'http://10.example.com/',
    'https://172.15.0.1/',
    'https://internals.com/',
    'https://a.example/?u=http://127.0.0.1/',
    'https://localhost.example.com/',
    'https://8.8.8.8/',
  ])('ssrf leaves %s alone', url => {
    expect(decide('ssrf', nav(url))).toBe('allow');
  });

  it('https-only refuses plain addresses at the tool and at the proxy', () => {
    expect(decide('https-only', nav('http://example.com/'))).toBe('block');
    expect(decide('https-only', nav('https://example.com/'))).toBe('allow');
    expect(POLICY_PRESETS['https-only'].policy.sites.httpsOnly).toBe(true);
  });

  it('are added to a document that keeps what it has', () => {
    const own = parsePolicy({
      version: 1,
      tools: [{ tools: ['browser_*'], action: 'allow' }],
      sites: { httpsOnly: false },
    });
    const all = withPresets(own, ['ssrf', 'https-only', 'chain-allowlist']);
    // Two rules, a rule beside the setting that the document has, and a rule with a setting.
    expect(all).toMatchObject({ created: 5, skipped: 1, policy: { sites: { httpsOnly: false } } });
    expect(all.policy.tools).toHaveLength(5);
    expect(all.policy.tools[0]).toEqual(own.tools[0]);
    expect(all.policy.defaults).toEqual({ untrustedContext: 'block' });
    expect(withPresets(all.policy, ['ssrf'])).toEqual({ policy: all.policy, created: 0, skipped: 2 });
    expect(withPresets(null, ['https-only'])).toMatchObject({
      created: 2,
      skipped: 0,
      policy: POLICY_PRESETS['https-only'].policy,
    });
  });
});

it('matches tool patterns in linear time, however many stars', () => {
  // A matcher that backtracks would not return: it tries every way to place 60 stars.
  expect(coversTool('*a'.repeat(60), 'a'.repeat(20_000).concat('b'))).toBe(false);
  expect([coversTool('*', ''), coversTool('a*a', 'a'), coversTool('a*a', 'aa'), coversTool('a**b', 'ab')]).toEqual([
    true,
    false,
    true,
    true,
  ]);
});
