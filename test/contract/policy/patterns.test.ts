import fc from 'fast-check';
import { RE2JS } from 're2js';
import { describe, expect, it, vi } from 'vitest';
import { parsePolicy } from '../../../contract/policy/document.ts';
import { patternCost } from '../../../contract/policy/pattern-cost.ts';
import { PATTERN_COST_MAX } from '../../../contract/policy/patterns.ts';
import { decideToolCall } from '../../../contract/policy/tools.ts';
import { OmicronError } from '../../../contract/problem.ts';

const withPatterns = (...patterns: string[]) => ({
  version: 1,
  tools: patterns.map(value => ({
    tools: ['*'],
    action: 'allow',
    when: [{ path: 'url', operator: 'regex', value }],
  })),
});

const faultsOf = (document: unknown): string[] => {
  try {
    parsePolicy(document);
    return [];
  } catch (error) {
    if (error instanceof OmicronError)
      return (error.extra.errors ?? []).map(({ path, message }) => `${path} ${message}`);
    throw error;
  }
};

describe('a pattern with a long program', () => {
  it.each([
    'a{1000}'.repeat(142),
    '(?:ab|cd|ef){1000}',
    '((a?){30}){30}',
    '\\pL{1000}',
    `[${'\\pL\\PL'.repeat(160)}]`,
    `(?i)${'[\\x{42}-\\x{1E942}]'.repeat(40)}`,
    '(?:\\b\\B){1000}'.repeat(60),
    '.{0,1000}'.repeat(100),
    `${'('.repeat(300)}a${'){2,3}'.repeat(9)}${')'.repeat(291)}`,
  ])('%s is refused by its name, and is not compiled', pattern => {
    expect(faultsOf(withPatterns('^https://', pattern))).toEqual([
      expect.stringMatching(/^tools\[1\]\.when\[0\]\.value is too large a regular expression \(cost \d+, limit 2500\)/),
    ]);
  });

  it.each([
    '^https://([a-z0-9-]{1,63}\\.){1,8}example\\.com(:\\d{1,5})?(/.*)?$',
    '^[\\pL\\pN ._-]{1,40}$',
    '(?i)^(get|post|put|delete) /api/v\\d+/',
    '.{0,1000}',
  ])('%s is of a size that people write', pattern => {
    expect(faultsOf(withPatterns(pattern))).toEqual([]);
  });
});

it('a document of many patterns is refused at the first one too many, before any is compiled', () => {
  const patterns = Array.from({ length: 60 }, (_, i) => `a{${900 + i}}`);
  const compile = vi.spyOn(RE2JS, 'compile');
  expect(faultsOf(withPatterns(...patterns))).toEqual([
    expect.stringMatching(/^tools\[10\]\.when\[0\]\.value is one regular expression too many \(cost .+, limit 10000\)/),
  ]);
  expect(compile).not.toHaveBeenCalled();
  compile.mockRestore();
});

it('a document of 500 rules with a short pattern each is taken, as are repetitions of one long one', () => {
  expect(faultsOf(withPatterns(...Array.from({ length: 500 }, (_, i) => `^/shop/${i}$`)))).toEqual([]);
  expect(faultsOf(withPatterns(...Array.from({ length: 500 }, () => '^.{1,900}$')))).toEqual([]);
});

it('never estimates fewer instructions than RE2 makes', () => {
  const part = fc.constantFrom(
    ...[
      'a',
      '.',
      '\\d',
      '\\pL',
      '\\P{Greek}',
      '[a-z]',
      '[^\\pN-]',
      '[]a-]',
      '[[:alpha:]x]',
      '\\x{1F600}',
      '\\07',
      '\\Qa{3}\\E',
    ],
    ...[
      '\\Q*',
      '^',
      '$',
      '\\b',
      '(?i)',
      '😀',
      '{',
      '}',
      '{2',
      '{,3}',
      '-',
      ']',
      '[\\]\\[]',
      '\\{',
      '(?i:ab|AB)',
      '(?P<n>',
      '(?:',
    ],
    ...[
      '(',
      '(',
      ')',
      ')',
      '|',
      '*',
      '+',
      '?',
      '*?',
      '{3}',
      '{2,5}',
      '{0,7}',
      '{4,}',
      '{0}',
      '{01}',
      '{30}?',
      '{1,100}',
      '{1000}',
    ],
  );
  const pattern = fc.array(part, { minLength: 1, maxLength: 20 }).map(parts => parts.join(''));
  fc.assert(
    fc.property(pattern, text => {
      const cost = patternCost(text);
      if (cost > PATTERN_COST_MAX) return;
      let instructions = 0;
      try {
        instructions = RE2JS.compile(text).programSize();
      } catch {} // not a pattern of RE2
      expect(instructions).toBeLessThanOrEqual(cost);
    }),
    { numRuns: 2000 },
  );
});

describe('arguments that a policy would take long to match', () => {
  const decide = (policy: unknown, args: Record<string, unknown>) =>
    decideToolCall(
      [{ layer: 'user', policy: parsePolicy(policy) }],
      { tool: 't', arguments: args, sessionId: 's' },
      { untrusted: false },
    );
  const many = (when: unknown) => ({
    version: 1,
    tools: Array.from({ length: 400 }, () => ({ tools: ['*'], action: 'block_always', when: Array(20).fill(when) })),
  });
  const texts = Array.from({ length: 20_000 }, (_, i) => `text ${i}`);
  it.each<[string, unknown, Record<string, unknown>]>([
    ['a long text and a large pattern', withPatterns('(?:x?y?){200}!$'), { url: 'xy'.repeat(200_000) }],
    ['many texts and many conditions', many({ path: 'texts', operator: 'contains', value: 'none' }), { texts }],
    [
      'many texts and long lists',
      many({ path: 'texts.*', operator: 'not_in_list', value: Array.from({ length: 100 }, (_, i) => `${i}`) }),
      { texts },
    ],
    [
      'deep paths',
      many({ path: '*.*.*.*.*', operator: 'equal', value: 'none' }),
      { texts: texts.map(text => [[[text]]]) },
    ],
  ])('%s: the call is blocked, not matched for minutes', (_name, policy, args) => {
    expect(decide(policy, args)).toMatchObject({ action: 'block', reason: expect.stringContaining('too large') });
  });

  it('a page of text under an ordinary policy is decided', () => {
    const policy = withPatterns('^https://([a-z0-9-]{1,63}\\.){1,3}example\\.com/', '(?i)password');
    expect(decide(policy, { url: 'long text '.repeat(1000) })).toMatchObject({ action: 'allow' });
  });
});
