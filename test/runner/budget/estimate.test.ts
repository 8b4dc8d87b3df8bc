import { expect, test } from 'vitest';
import { estimateTokens } from '../../../runner/budget/estimate.ts';
import { PAGES } from '../../tokens/pages.ts';
import { tokensOf } from '../../tokens/tokens.ts';

const rows = Array.from(
  { length: 60 },
  (_, n) => `- row: link "#${n}" [ref=f1e${n * 13}] /o/${n} | Customer ${n} | ${n * 17.35} EUR | Open`,
);
const TEXTS: Readonly<Record<string, string>> = {
  'a snapshot': rows.join('\n'),
  'a page of HTML': PAGES.form,
  prose: 'The quick brown fox considers the unbelievable responsibilities of international organisations. '.repeat(20),
  German:
    'Die Geschwindigkeitsbegrenzung gilt für alle Straßenbenutzerinnen außerhalb geschlossener Ortschaften. '.repeat(
      20,
    ),
  Russian: 'Быстрая коричневая лиса перепрыгивает через ленивую собаку и бежит дальше. '.repeat(20),
  Chinese: '快速的棕色狐狸跳过了懒狗，然后继续跑向远方的森林。'.repeat(20),
  Arabic: 'الثعلب البني السريع يقفز فوق الكلب الكسول ويجري بعيدا. '.repeat(20),
  emoji: '🎉🚀👩‍👩‍👧‍👦🇩🇪'.repeat(40),
  'random letters': Buffer.from(rows.join('')).toString('base64'),
  hex: Buffer.from(rows.join('')).toString('hex'),
  numbers: rows.map((_, n) => n * 7_919_331).join(' '),
  'an address': 'https://shop.example/search?q=red+shoes&utm_source=news&sid=8f14e45fceea167a5a36dedd4bea2543 '.repeat(
    20,
  ),
  JSON: JSON.stringify({ links: rows.map((text, n) => ({ text, href: `/a/${n}` })) }, null, 2),
  signs: '=== --- >>> <<< {{{ }}} ;;; ::: $$$ %%% '.repeat(30),
};

test.each(Object.entries(TEXTS))('%s: never a tenth less than it takes, and at most twice as much', (_name, text) => {
  const ratio = estimateTokens(text) / tokensOf(text);
  expect(ratio).toBeGreaterThan(0.9);
  expect(ratio).toBeLessThan(2);
});
