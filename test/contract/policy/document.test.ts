import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { credentialTargets, decideCredential } from '../../../contract/policy/credentials.ts';
import { parsePolicy, policyDocument, policyJsonSchema } from '../../../contract/policy/document.ts';
import { decideToolCall, explainToolCall } from '../../../contract/policy/tools.ts';
import { OmicronError } from '../../../contract/problem.ts';

const faults = (document: unknown): string[] => {
  try {
    parsePolicy(document);
  } catch (error) {
    if (error instanceof OmicronError) return (error.extra.errors ?? []).map(({ path }) => path);
    throw error;
  }
  return [];
};
const regex = (value: string) => ({
  version: 1,
  tools: [{ tools: ['*'], action: 'allow', when: [{ path: 'url', operator: 'regex', value }] }],
});

it('accepts the smallest document and fills in the defaults', () => {
  expect(parsePolicy({ version: 1 })).toEqual({ version: 1, tools: [], sites: {}, credentials: {}, defaults: {} });
});

describe('an invalid document is refused with the path of each error', () => {
  const bad: [string, unknown, string[]][] = [
    ['no object', 'policy', ['(document)']],
    ['no version', {}, ['version']],
    ['another version', { version: 2 }, ['version']],
    ['an unknown part', { version: 1, sites: { alow: [] } }, ['sites']],
    ['a rule without tools', { version: 1, tools: [{ tools: [], action: 'allow' }] }, ['tools[0].tools']],
    ['an unknown action', { version: 1, tools: [{ tools: ['*'], action: 'deny' }] }, ['tools[0].action']],
    [
      'a bad tool pattern',
      { version: 1, tools: [{ tools: ['ok', 'browser tool'], action: 'allow' }] },
      ['tools[0].tools[1]'],
    ],
    [
      'an unknown operator',
      {
        version: 1,
        tools: [{ tools: ['*'], action: 'allow', when: [{ path: 'a', operator: 'matches', value: 'x' }] }],
      },
      ['tools[0].when[0].operator'],
    ],
    [
      'a bad path',
      {
        version: 1,
        tools: [{ tools: ['*'], action: 'allow', when: [{ path: 'a..b', operator: 'equal', value: 'x' }] }],
      },
      ['tools[0].when[0].path'],
    ],
    [
      'a value of the wrong kind',
      {
        version: 1,
        tools: [{ tools: ['*'], action: 'allow', when: [{ path: 'a', operator: 'in_list', value: 'x' }] }],
      },
      ['tools[0].when[0].value'],
    ],
    ['a bad host pattern', { version: 1, sites: { allow: ['a.example', '*google.com'] } }, ['sites.allow[1]']],
    ['a port out of range', { version: 1, sites: { ports: [443, 70_000] } }, ['sites.ports[1]']],
    ['a bad site key', { version: 1, credentials: { 'a b': ['a.example'] } }, ['credentials.a b']],
    ['an http origin', { version: 1, credentials: { shop: ['http://a.example'] } }, ['credentials.shop[0]']],
    [
      'an origin with a path',
      { version: 1, credentials: { shop: ['https://a.example/login'] } },
      ['credentials.shop[0]'],
    ],
    [
      'an origin with userinfo',
      { version: 1, credentials: { shop: ['https://a.example@evil.test'] } },
      ['credentials.shop[0]'],
    ],
    [
      'a host that is no registrable domain',
      { version: 1, credentials: { shop: ['www.a.example'] } },
      ['credentials.shop[0]'],
    ],
    ['a public suffix', { version: 1, credentials: { shop: ['github.io'] } }, ['credentials.shop[0]']],
    [
      'a character that no database stores',
      { version: 1, tools: [{ tools: ['*'], action: 'block_always', reason: 'no\0' }] },
      ['tools[0].reason'],
    ],
    ['half of a surrogate pair', { version: 1, credentials: { 'a\ud83d': ['shop.example'] } }, ['credentials.a\ud83d']],
    ['two faults at once', { version: 1, sites: { allow: ['*'], ports: [0] } }, ['sites.allow[0]', 'sites.ports[0]']],
  ];
  it.each(bad)('%s', (_name, document, paths) => {
    expect(faults(document)).toEqual(paths);
  });

  it.each(['(', 'a{1001}', '(?=x)', '(?<!x)y', '(a)\\1', '[z-a]', '*a', '\\', '((a{100}){100}){100}', ''])(
    'the regular expression %s',
    pattern => {
      expect(faults(regex(pattern))).toEqual(['tools[0].when[0].value']);
    },
  );
});

it('matches regular expressions in linear time', () => {
  // An engine that backtracks would not return.
  for (const pattern of ['^(a+)+$', '(a|a)*b', '^(.*a){20}$', '(x+x+)+y', '([a-z]+)*\\d']) {
    const policy = parsePolicy(regex(pattern));
    const call = { tool: 't', arguments: { url: `${'a'.repeat(5000)}!` }, sessionId: 's' };
    const verdict = decideToolCall([{ layer: 'session', policy }], call, { untrusted: false });
    expect(verdict).toMatchObject({ action: 'allow', rule: null });
  }
});

describe('fuzzing', () => {
  it('parses any JSON or refuses it with paths, and throws nothing else', () => {
    fc.assert(
      fc.property(fc.jsonValue(), value => void faults(value)),
      { numRuns: 2000 },
    );
  });

  const condition = fc.record({
    path: fc.string(),
    operator: fc.constantFrom('regex', 'contains', 'equal', 'in_list', 'nonsense'),
    value: fc.oneof(fc.string(), fc.array(fc.string()), fc.integer()),
  });
  const rule = fc.record(
    {
      tools: fc.array(fc.string()),
      except: fc.array(fc.string()),
      when: fc.array(condition),
      action: fc.constantFrom('allow', 'block_always', 'other'),
    },
    { requiredKeys: ['tools', 'action'] },
  );
  const nearly = fc.record(
    {
      version: fc.constantFrom(1, 1, 1, 2),
      tools: fc.array(rule),
      sites: fc.record(
        { allow: fc.array(fc.oneof(fc.domain(), fc.string())), ports: fc.array(fc.integer()) },
        { requiredKeys: [] },
      ),
      credentials: fc.dictionary(fc.string(), fc.array(fc.oneof(fc.domain(), fc.webUrl(), fc.string()))),
      ['__proto__']: fc.jsonValue(),
    },
    { requiredKeys: ['version'] },
  );

  it('does so for nearly valid documents, and decides any call under those that it accepts', () => {
    fc.assert(
      fc.property(nearly, fc.string(), fc.dictionary(fc.string(), fc.jsonValue()), (document, tool, args) => {
        if (faults(document).length > 0) return;
        const parsed = policyDocument.safeParse(document);
        if (!parsed.success) return;
        const layers = [{ layer: 'session' as const, policy: parsed.data }];
        const call = { tool, arguments: args, sessionId: 's' };
        expect(['allow', 'block']).toContain(decideToolCall(layers, call, { untrusted: true }).action);
        explainToolCall(layers, call, { untrusted: true });
        expect(parsePolicy(parsed.data)).toEqual(parsed.data); // what was stored can be read again
      }),
      { numRuns: 2000 },
    );
  });
});

describe('credentials by site', () => {
  const layers = [
    {
      layer: 'deployment' as const,
      credentials: parsePolicy({
        version: 1,
        credentials: { shop: ['example.com'], mail: ['https://mail.example.org'] },
      }).credentials,
    },
    {
      layer: 'session' as const,
      credentials: parsePolicy({
        version: 1,
        credentials: { shop: ['https://login.example.com', 'https://login.example.com:8443'] },
      }).credentials,
    },
  ];
  it.each([
    ['shop', 'https://login.example.com', true],
    ['shop', 'https://login.example.com:8443', true],
    ['shop', 'https://www.example.com', false], // the session names one origin only
    ['shop', 'http://login.example.com', false],
    ['shop', 'https://login.example.com.evil.test', false],
    ['shop', 'https://example.com@evil.test', false],
    ['shop', 'https://login.examp1e.com', false],
    ['shop', 'https://xn--exmple-cua.com', false],
    ['mail', 'https://mail.example.org', true],
    ['mail', 'https://mail.example.org:444', false],
    ['mail', 'https://other.example.org', false],
    ['github.com', 'https://gist.github.com', true], // the key is the registrable domain
    ['github.com', 'https://github.com.evil.test', false],
    ['alice.github.io', 'https://bob.github.io', false],
    ['unknown', 'https://unknown.example', false],
    ['constructor', 'https://example.com', false],
    ['shop', 'null', false],
    ['shop', 'https://login.example.com/path', false],
  ])('%s on %s: %s', (key, origin, allowed) => {
    const verdict = decideCredential(layers, key, origin);
    expect(verdict.allowed).toBe(allowed);
    expect(verdict.reason).not.toBe('');
  });

  it.each<[string, string[], string, boolean]>([
    ['walmart', ['walmart.example'], 'https://www.walmart.example', true], // no policy needed
    ['walmart', ['https://login.walmart.example'], 'https://www.walmart.example', false],
    ['walmart', ['walmart.example'], 'http://walmart.example', false],
    ['github.com', ['https://github.com'], 'https://gist.github.com', false], // its url is narrower than its key
    ['github.com', ['https://sso.example.net'], 'https://sso.example.net', true],
    ['shop', ['example.com'], 'https://login.example.com', true], // and every layer must agree still
    ['shop', ['example.com'], 'https://www.example.com', false],
    ['shop', ['evil.example'], 'https://evil.example', false],
  ])('%s, stored for %s, on %s: %s', (key, own, origin, allowed) => {
    expect(decideCredential(layers, key, origin, own).allowed).toBe(allowed);
  });

  it.each<[string, string[] | undefined, string[]]>([
    ['shop', undefined, ['https://login.example.com', 'https://login.example.com:8443']],
    ['shop', ['https://login.example.com', 'https://other.example'], ['https://login.example.com']],
    ['shop', ['evil.example'], []],
    ['mail', undefined, ['https://mail.example.org']],
    ['mail', ['example.org'], ['https://mail.example.org']],
    ['walmart', ['walmart.example'], ['walmart.example']],
    ['walmart', undefined, []],
    ['GitHub.com', undefined, ['github.com']],
    ['www.github.com', undefined, []],
  ])('%s, stored for %s, is filled on %s', (key, own, targets) => {
    const found = credentialTargets(layers, key, own);
    expect(found.targets).toEqual(targets);
    expect(found.reason === null).toBe(targets.length > 0);
    for (const target of targets) {
      const origin = target.includes('://') ? target : `https://${target}`;
      expect(decideCredential(layers, key, origin, own).allowed).toBe(true);
    }
  });
});

it('is published as a JSON Schema that matches the code', () => {
  const published: unknown = JSON.parse(
    readFileSync(new URL('../../../docs/policy.schema.json', import.meta.url), 'utf8'),
  );
  expect(published).toEqual(JSON.parse(JSON.stringify(policyJsonSchema())));
});
