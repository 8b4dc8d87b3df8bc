import { REFUSALS, type RefusalCode } from './egress.ts';
import type { ProblemCode } from './problem.ts';

/**
 * Every code of a tool's failure, and when it is answered; docs/tools.md lists them. Programs decide by a code, and the event
 * `tool.call` has it: a code never changes its meaning.
 */
export const TOOL_CODES = {
  // the call is wrong
  invalid_arguments: 'the arguments do not fit the schema of the tool, or one another',
  unknown_tool: 'the lease serves no tool of this name; `hints` has similar ones',
  session_mismatch: '`sessionId` is not the name that the agent gave to this lease',
  element_not_found: 'the target names no element, or several',
  option_not_found: 'the list, checkbox or radio button does not offer the value; `hints` has what it offers',
  name_misplaced: 'the name of a secret stands where it is not filled in',
  action_failed: 'the browser could not do it; the message says why',

  // files
  file_not_found: 'no file of the lease has this name',
  file_not_readable: 'the file is no text, PDF or picture',
  file_closed: 'the bytes of the file could hold a credential',

  // not allowed
  policy_blocked: 'a rule of the browsing policy blocks the call; the message names the layer and the rule',
  address_closed: 'addresses of this kind are closed, such as `file:`',

  // not now
  tabs_full: 'the browser has as many tabs as it may have; close one',
  dialog_open: 'a dialog of this or another tab waits for its answer; call `browser_handle_dialog`',
  person_has_control: 'a person controls the browser; call again when they have given it back',
  capacity_exceeded: 'as many pages of a chat watch the browser as may; for the page in the chat alone',
  viewer_unknown: 'the connection of the page in the chat has ended; it opens another one',

  // it could give a secret away
  secret_on_page: 'a credential was filled in, and the call could read it',
  selector_refused: 'the selector asks for the value of an element, or for what it could be',
  picture_withheld: 'it is not certain that the picture shows no secret',
  result_withheld: 'the result held a secret across its fields',

  // nothing, or not everything, was filled in
  login_form_still_shown: 'the form was sent, and a password field is still there',
  captcha_or_mfa: 'the site asks for something that only its person can give',
  credential_unknown: 'the text is formed as the name of a credential, and the lease has none of that name',
  no_credential: 'no stored credential may be used on this page',
  no_totp: 'the credential has no TOTP seed',
  origin_refused: 'the page is not one of the credential: its scheme, its origin, or a frame of another origin',
  field_not_found: 'a field names no element, or several',
  field_refused: 'the field is hidden, read-only, inert or of the wrong type',
  page_changed: 'the page changed while it was filled in',
  scripted_document: 'a script of the agent ran in the page, and could read what is filled in',

  // a person
  person_asked: 'a person is asked whether a credential may be used on this site; call again for the answer',
  user_action_failed: 'the request to the person could not be made, or its answer not be read',

  // given up; the call may have had its effect
  browser_action_timeout:
    'the call took longer than the tool may; the code goes on with the tool and its limit: `browser_action_timeout:browser_click:5s`',
  pattern_too_slow: 'a `regex` or `filter` had not searched the page after 5 s',
  call_cancelled: 'the client cancelled the call',
  call_interrupted:
    'the connection to the browser broke while the call ran; answered by the gateway and the stdio server',

  // the browser
  lease_ended: 'the lease has ended; request the session again',
  browser_crashed: 'the browser crashed, or was ended; request the session again',
  browser_unreachable: 'no answer from the browser, and nothing was done; answered by the gateway and the stdio server',
  browser_unavailable: 'no browser could be leased; the message has the code of the API; answered by the stdio server',
} as const satisfies Record<string, string>;

type OwnCode = keyof typeof TOOL_CODES;

/** Code of a call that took longer than it may, e.g. `browser_action_timeout:browser_click:5s` (S10). */
type TimeoutCode = `browser_action_timeout:${string}:${number}s`;

/**
 * A code that a tool's failure may have: also one of the API, where a tool passes on what a call of the API answered, or of the egress proxy,
 * where it refused the page.
 */
export type ToolCode = Exclude<OwnCode, 'browser_action_timeout'> | TimeoutCode | ProblemCode | RefusalCode;

/** Whether a code is one of a table of this product, and not made up by a caller. */
export const isKnownToolCode = (code: string): boolean =>
  Object.hasOwn(TOOL_CODES, code) || Object.hasOwn(REFUSALS, code);

export const actionTimeout = (tool: string, seconds: number): TimeoutCode =>
  `browser_action_timeout:${tool}:${seconds}s`;

/** A code as events have it, without what is particular to one call. */
export const codeOfEvent = (code: string): string => code.split(':', 1)[0] ?? code;
