/** Every kind of event of a timeline, and when it is written, with the fields of its data; docs/reference/events.md lists them. An event has `trace_id` and `span_id` where what wrote it is in a trace. */
export const EVENT_KINDS = {
  // the life of a session
  'session.claimed': 'The session was claimed for a new epoch: `runner_id`, `warm` (the runner was running already).',
  'session.ready': 'The lease is ready: `runner_id`, `start_ms`.',
  'session.ended': 'The lease ended: `reason`.',
  'session.error': 'The lease failed: `reason`, `error`.',
  'session.hibernated': 'The session gave its runner back: `why`, `tabs`, `bytes`, `until`.',
  'session.hibernate_failed': 'The session could not be hibernated, and its lease goes on: `code`.',
  'session.restored': 'A hibernated session has a runner again: `runner_id`.',
  'session.restore_failed': 'A hibernated session could not be restored, and stays hibernated: `reason`, `error`.',
  'tabs.restored':
    'Tabs of a profile or of a hibernated session were opened: `tabs`, `loaded` (those that had loaded in time).',
  'secrets.loaded': 'The runner has the credentials of its lease: `names`, without their values.',
  'runner.gone': 'The runner of the epoch no longer exists: `runner_id`, `reason`.',

  // the agent
  'tool.call':
    'A tool call: `tool`, `arguments`, `outcome` (`ok`, `error`, `blocked`), `duration_ms`, the page, `code` and `error` of a failure, `layer` and `rule` of a policy that blocked it, `picture` of a kept page.',
  login: 'A login with a stored credential was tried: `domain`, `status`.',
  'challenge.seen': 'A page showed a CAPTCHA or another check for people: `challenge`, `url`.',
  'user_action.requested': 'The agent asked its user for something: `id`, `reason`.',
  'user_action.answered': 'The request was answered: `id`, `status`, and by whom: `viewer`, `identity`.',

  // people
  'control.taken':
    'A person took control of the browser: `viewer`, `identity`; `from` and `reason` when from another person.',
  'control.given_back': 'Control returned to the agent: `viewer`, `identity`, `why`, `seconds`.',

  // the browser
  'browser.crashed':
    'The process of the browser ended: `detail`, `exit`, `stopped` (limits that were enforced before).',
  'browser.frozen': 'An idle browser was stopped.',
  'browser.thawed': 'A stopped browser runs again: `seconds` that it was stopped.',
  'page.closed': 'A tab passed a limit and was closed: `url`, `why`.',
  'download.cancelled': 'A download passed a limit: `url`, `why`.',
  'egress.denied':
    'The egress proxy refused a connection: `code`, `method`, `host`, `port`, `address_class`, `rule`, `layer`; of `more_denials` the `count`.',

  // what is kept
  'file.added': 'A file was brought in or downloaded: `name`, `source`, `bytes`.',
  'recording.started': 'The video of a tab began: `file`.',
  'recording.stopped': 'A tab is not recorded, or no longer: `file`, `reason`.',
  'artifact.stored': 'A video, file or page is in the artifact store: `name`, `uri`, `bytes`.',
  'artifact.lost': 'A video, file or page could not be stored: `name`, `reason`.',
  'profile.saved': 'A new version of the profile was saved: `name`, `version`, `bytes`.',
  'profile.save_failed':
    'The profile was not saved at the end of the lease, and its version before stays: `code`, `detail`.',
} as const satisfies Record<string, string>;

export type EventKind = keyof typeof EVENT_KINDS;
