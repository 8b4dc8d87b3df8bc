import { expect, it } from 'vitest';
import { actionTimeout, codeOfEvent, type ToolCode } from '../../contract/tool-codes.ts';

it('a code that no table has does not compile, nor does a time-out without its tool and limit', () => {
  // @ts-expect-error: a misspelt code
  const misspelt: ToolCode = 'policy_bloked';
  // @ts-expect-error: a program could not say which limit was reached
  const bare: ToolCode = 'browser_action_timeout';
  const known: ToolCode[] = ['policy_blocked', 'profile_in_use', actionTimeout('browser_click', 5)];
  expect([misspelt, bare, ...known].map(codeOfEvent)).toEqual([
    ...['policy_bloked', 'browser_action_timeout'],
    ...['policy_blocked', 'profile_in_use', 'browser_action_timeout'],
  ]);
});
