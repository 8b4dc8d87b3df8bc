/** The exports of `import ... from 'omicron-browser'`. */

import './node-version.ts';

export type { Snapshot, Toolset } from '../contract/assignment.ts';
export type { StreamedEvent } from '../contract/event-stream.ts';
export type { ListedFile, SessionFile } from '../contract/files.ts';
export type { KeptPage } from '../contract/kept-pages.ts';
export type { KeepPages } from '../contract/page-names.ts';
export type { EffectivePolicy, PolicyDocument } from '../contract/policy/document.ts';
export { OmicronError, type ProblemCode } from '../contract/problem.ts';
export type { Profile, ProfileDetail, ProfileState, ProfileVersion } from '../contract/profile.ts';
export type { Credential, CredentialList } from '../contract/secrets.ts';
export type {
  Artifact,
  EventPage,
  Session,
  SessionEvent,
  SessionPage,
  Tags,
} from '../contract/session.ts';
export type { SessionState } from '../contract/states.ts';
export type { UsageReport } from '../contract/usage.ts';
export type { UserAction } from '../contract/user-action.ts';
export type { UserErasure } from '../contract/user-erasure.ts';
export type {
  Webhook,
  WebhookAdded,
  WebhookFailure,
  WebhookFailurePage,
  WebhookSecret,
  WebhookTest,
} from '../contract/webhook.ts';
export {
  type AcquireRequest,
  BrowserSessions,
  type BrowserSessionsOptions,
  type BrowserSource,
  type CallOptions,
  type ListRequest,
  type PlaceInLine,
  type PolicyOwner,
  type UsageRequest,
} from './browser-sessions.ts';
export { browserSource } from './browser-source.ts';
export type { FileContent } from './file-calls.ts';
export type { FollowRequest } from './follow-events.ts';
export { Lease } from './lease.ts';
export type { ConnectedBrowser, LeasedBrowser } from './leased-browser.ts';
export type { Tool, ToolContent, ToolResult } from './mcp.ts';
export type { NewWebhookRequest, WebhookCalls } from './webhook-calls.ts';
