import type { ProblemCode } from './problem.ts';

/** When each problem is answered, and what to do about it: docs/reference/errors.md lists them. Clients read the `detail` of a problem instead. */
export const PROBLEM_MEANINGS = {
  // the request
  invalid_request: 'A header, parameter or field of the body is wrong; `errors` names each. Correct the request.',
  unauthorized: 'The token is missing, expired, signed with another key or for another audience. Sign a new one.',
  forbidden: 'The token or the role is valid and does not cover this. Use a token for this user, or another role.',
  origin_refused:
    'The request came from a page of another origin, or under a `Host` that is not served. Use the address that the lease, gateway or console names.',
  method_not_allowed: 'The route exists and has no such method; see the OpenAPI document.',
  payload_too_large: 'The body, the path or one file is larger than its limit, which the detail names.',
  unsupported_media_type:
    'The body is of another type than the route reads. Send the `Content-Type` that the detail names.',
  too_many_requests:
    'A user has 32 requests of the gateway running, or the console makes another MP4. Try again later.',

  // not found
  session_not_found: 'No session has this id, or it belongs to another user. List sessions to find the right one.',
  artifact_not_found: 'The session has no stored artifact with this id, or its file is past its retention.',
  user_action_not_found: 'The session has no user action with this id.',
  file_not_found: 'The session has no file with this name that can be read.',
  profile_not_found: 'The user has no profile with this name, or no such version of it is kept.',
  webhook_not_found: 'The deployment has no webhook with this id. List webhooks to find the right one.',
  credential_not_found: 'The user has no credential for this site, or it has no TOTP seed.',
  route_not_found: 'The service has no such route; see the OpenAPI document.',

  // the lease
  lease_starting: 'The browser is still starting. Repeat the call; the same session answers.',
  lease_superseded: 'The session has a newer epoch, or its lease may not save the profile. Get the lease again.',
  lease_ended: 'The lease has ended, or ends just now. Request the session again: it gets a new browser.',
  lease_in_use: 'A call or a person used the session while it was about to be hibernated; it goes on.',
  lease_released: 'This process released the lease before. Acquire it again.',
  assignment_refused: 'The runner stops, or serves another lease. The controller starts another one by itself.',
  redemption_refused: 'The runner may not have the secrets of this lease: it is another epoch, or over.',
  predecessor_draining: 'The previous runner of the session may still act. Try again after `retry_after_seconds`.',
  provider_mismatch: 'The session has a lease at another provider. End it, or wait until it ends.',

  // limits
  user_quota_exceeded:
    'The user has as many sessions as `OMICRON_USER_LIMIT` allows; `limit` and `active` say how many. End one, or retry after `retry_after_seconds`.',
  capacity_exceeded:
    'Every place for a runner is taken, and `wait_seconds` have passed. Retry after `retry_after_seconds`, which keeps the turn; the SDKs do.',

  // files and artifacts
  file_exists: 'The lease has a file of this name with other content. Choose another name.',
  webhooks_quota_exceeded: 'The deployment has as many webhooks as it may. Delete one, or send more kinds to one.',
  files_quota_exceeded: 'The lease holds as many files, or MiB of them, as it may.',
  artifact_urls_unavailable: 'Artifacts are in a folder, which has no URLs. Read the content through the API.',

  // profiles
  profile_in_use: 'Another session writes the profile; `session_id` names it. End it, or lease with `read-only`.',
  profile_changed: 'Another save came first; nothing was saved over it.',
  profile_mismatch: 'The lease of this conversation has another profile. End it first, or name no profile.',
  profile_too_large: 'The profile holds more than one version may. Clear the data that its sites store.',
  profiles_not_configured: 'The deployment has no profile store: set `OMICRON_PROFILE_STORE`.',
  profile_unreadable: 'The stored version is damaged, or its key is gone. Restore an older version.',
  profile_quota_exceeded: 'The profiles of the user take `OMICRON_PROFILE_QUOTA_MB`. Delete versions or profiles.',
  profile_unavailable: 'The profile store or the browser did not answer. Try again.',

  // credentials and remote browsers
  credentials_not_configured:
    'The lease requires credentials, and the user has none that can be used. Store one, or leave `require_credentials` out.',
  not_held_remotely: 'A browser of a remote service cannot hold this. Leave it out, or use another provider.',

  // the service
  internal_error: 'A fault of this software; the log of the service has the reason.',
  runner_start_failed: 'No runner could be started; the detail has the words of scheduler, kubelet or API server.',
  browser_crashed: 'The browser ended while it started. A new request gets a new browser; the SDKs repeat it.',
  sandbox_runtime_required:
    'Chromium cannot start its sandbox here. Change the machine: `omicron-browser doctor` says how.',
  store_unavailable: 'The database does not answer. Try again.',
  secrets_unavailable: 'The secret store does not answer, or its file cannot be read. Try again.',
  issuer_unavailable: 'The issuer of access tokens does not answer with its keys. Try again.',
  shutting_down: 'This replica stops. Try again; another one answers.',
  controller_unreachable: 'The controller gave no answer, or a gateway in front of it answered. Check its address.',
  browser_unreachable: 'A leased browser does not answer, although its lease is live. Try again.',

  // the process of a client
  not_configured:
    'Neither a controller nor a fallback is set: set `OMICRON_CONTROLLER_URL` and `OMICRON_SERVICE_JWT_SECRET`.',
  stack_running: 'A local stack runs in this folder already. Stop it, or use another `--folder`.',
} as const satisfies Record<ProblemCode, string>;
