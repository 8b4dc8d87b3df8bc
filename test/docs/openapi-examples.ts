import { OmicronError } from '../../contract/problem.ts';

/** Examples of docs/openapi.json, by schema: one chat, its lease, and what is left of both. */

const sessionId = '5f0c3f1e-8a51-4d0b-9d43-1b6c1f7b2a10';
const runnerId = 'c2a8b7d4-3e52-4c58-8f2e-6f0a4f0e9b71';
const actionId = '9b1f6c7e-6f4d-4a53-8f0d-2c1de8a4f6b2';
const artifactId = '3d9a5c80-4a7e-4c25-b1a9-f8f0f2d7c6e4';
const chat = { user_id: 'user-1', conversation_id: 'chat-1' };
const mcp_url = `http://browser-${runnerId}.browser-runners.svc:8080/mcp`;
const mcp_headers = { Authorization: 'Bearer eyJhbGciOiJFZERTQSJ9.e30.c2ln' };
const ends = { expires_at: '2026-11-26T10:15:00.000Z', ends_at: '2026-11-26T18:00:00.000Z' };

const session = {
  session_id: sessionId,
  ...chat,
  status: 'ready',
  epoch: 1,
  runner_id: runnerId,
  provider: 'kubernetes',
  mcp_url,
  tags: { team: 'sales' },
  record_video: true,
  ttl_seconds: 900,
  created_at: '2026-11-26T10:00:00.000Z',
  updated_at: '2026-11-26T10:00:00.000Z',
  last_used_at: '2026-11-26T10:00:00.000Z',
  ...ends,
  archived_at: null,
  released_at: null,
  ended_reason: null,
  error: null,
  artifacts_prefix: `s3://recordings/user-1/${sessionId}/`,
};

const event = {
  id: '1842',
  session_id: sessionId,
  epoch: 1,
  at: '2026-11-26T10:00:04.120Z',
  kind: 'tool.call',
  data: {
    tool: 'browser_navigate',
    arguments: { url: 'https://bakery.example' },
    outcome: 'ok',
    duration_ms: 412,
  },
};

const file = { name: 'invoice.pdf', source: 'download', bytes: 48_213, mime_type: 'application/pdf' };

const userAction = {
  id: actionId,
  session_id: sessionId,
  epoch: 1,
  reason: 'Enter the code that the bakery sent to your phone.',
  credential: null,
  status: 'pending',
  note: null,
  created_at: '2026-11-26T10:01:00.000Z',
  expires_at: '2026-11-26T10:06:00.000Z',
  answered_at: null,
  answered_by: null,
};

const profile = {
  user_id: 'user-1',
  name: 'default',
  version: 3,
  bytes: 21_840,
  created_at: '2026-11-20T09:00:00.000Z',
  last_used_at: '2026-11-26T10:00:00.000Z',
  saved_at: '2026-11-26T09:12:00.000Z',
  domains: [{ domain: 'bakery.example', expires_at: '2026-12-26T09:12:00.000Z', logged_in: true }],
  writer_session_id: sessionId,
};

const state = {
  cookies: [
    {
      name: 'session',
      value: 'k2v9',
      domain: 'bakery.example',
      path: '/',
      expires: 1_798_275_120,
      httpOnly: true,
      secure: true,
      sameSite: 'Lax',
    },
  ],
  origins: [{ origin: 'https://bakery.example', localStorage: [{ name: 'language', value: 'en' }] }],
};

const rule = { tools: ['browser_evaluate'], action: 'block_always', reason: 'Scripts are not needed here.' };
const policy = {
  version: 1,
  tools: [{ ...rule, when: [] }],
  sites: { allow: ['*.bakery.example'], httpsOnly: true },
  credentials: { bakery: ['bakery.example'] },
  defaults: { tools: 'allow' },
};

const webhookSecret = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=';
const webhook = {
  id: '6d2f0b1c-0d6c-4a0e-8f57-2f4f6a1c9e30',
  url: 'https://platform.example.com/hooks',
  kinds: ['session.ended'],
  user_id: null,
  description: 'billing',
  created_at: '2026-11-26T10:00:00.000Z',
  paused_at: null,
  delivered_at: '2026-11-26T10:15:00.400Z',
  waiting_sessions: 0,
  waiting_since: null,
  last_error: null,
  failed: 0,
};
const usage = { sessions: 12, leases: 15, lease_seconds: 5_310.4, artifacts: 14, artifact_bytes: 61_203_998 };

export const EXAMPLES: Readonly<Record<string, object>> = {
  GetOrCreateRequest: { ...chat, ttl_seconds: 900, tags: { team: 'sales' } },
  Lease: { session_id: sessionId, status: 'ready', epoch: 1, mcp_url, mcp_headers, ...ends },
  HeartbeatRequest: { epoch: 1 },
  HeartbeatAnswer: {
    session_id: sessionId,
    status: 'ready',
    epoch: 1,
    ...ends,
    last_used_at: '2026-11-26T10:05:00.000Z',
  },
  ReleaseRequest: { epoch: 1 },
  Session: session,
  SessionPage: { sessions: [session], next_cursor: null },
  SessionEvent: event,
  EventPage: { events: [event], next_cursor: '1842' },
  StreamedEvent: { ...event, ...chat },
  ArtifactList: {
    artifacts: [
      {
        id: artifactId,
        session_id: sessionId,
        epoch: 1,
        runner_id: runnerId,
        kind: 'video',
        name: 'video-1.webm',
        state: 'stored',
        uri: `s3://recordings/user-1/${sessionId}/1/video-1.webm`,
        bytes: 4_380_112,
        reason: null,
        created_at: '2026-11-26T10:15:20.000Z',
      },
    ],
  },
  ArtifactUrlRequest: { ttl_seconds: 300 },
  ArtifactUrl: {
    url: `https://recordings.s3.eu-central-1.amazonaws.com/user-1/${sessionId}/1/video-1.webm?X-Amz-Signature=0f1e2d`,
    expires_at: '2026-11-26T10:25:00.000Z',
  },
  SessionFile: file,
  FileList: { files: [{ ...file, epoch: 1 }] },
  LiveTokenRequest: { role: 'control', viewer: 'Ada' },
  LiveTokenAnswer: { token: 'eyJhbGciOiJFZERTQSJ9.e30.c2ln', role: 'control', epoch: 1, expires_at: ends.expires_at },
  UserAction: userAction,
  UserActionList: { user_actions: [userAction] },
  PendingUserActionList: { user_actions: [{ ...userAction, ...chat }] },
  UserActionAnswer: { status: 'done', note: 'The code was entered.' },
  Webhook: webhook,
  AddedWebhook: { ...webhook, delivered_at: null, secret: webhookSecret },
  WebhookSecret: { secret: webhookSecret, both_until: '2026-11-27T10:00:00.000Z' },
  WebhookTest: { delivered: true, status: 204, error: null, duration_ms: 38 },
  WebhookFailurePage: {
    failures: [
      {
        ...event,
        ...chat,
        id: '7345.1842',
        attempts: 61,
        error: 'answered 500',
        failed_at: '2026-11-27T10:00:05.000Z',
        replaying: false,
      },
    ],
    next_cursor: null,
  },
  WebhookReplayed: { replayed: 1 },
  UsageReport: {
    since: '2026-11-01T00:00:00.000Z',
    until: '2026-11-26T00:00:00.000Z',
    by: 'user',
    usage: [{ name: 'user-1', ...usage }],
    total: usage,
  },
  Credential: { username: 'ada', password: 'correct horse battery staple', url: 'https://bakery.example' },
  CredentialList: {
    sites: [
      {
        site: 'bakery',
        secret_names: ['BAKERY_USERNAME', 'BAKERY_PASSWORD'],
        url: ['https://bakery.example'],
        filled_on: ['bakery.example'],
        problem: null,
      },
    ],
  },
  ProfileList: { profiles: [profile] },
  ProfileDetail: {
    ...profile,
    versions: [
      { version: 3, form: 'light', bytes: 21_840, saved_at: '2026-11-26T09:12:00.000Z', session_id: sessionId },
    ],
  },
  ProfileSaved: { version: 4 },
  ProfileCheckRequest: { url: 'https://bakery.example/account', text: 'Your orders' },
  ProfileCheck: { logged_in: true, url: 'https://bakery.example/account' },
  ProfileRestoreRequest: { version: 2 },
  ProfileState: state,
  ProfileStateInput: state,
  UserErasure: {
    user_id: 'user-1',
    done: true,
    removed: {
      sessions: 12,
      events: 1_842,
      videos: 14,
      files: 3,
      pages: 0,
      profiles: 1,
      credentials: 2,
      policies: 1,
      user_actions: 4,
    },
  },
  PolicyInput: { ...policy, tools: [rule] },
  PolicyAnswer: { policy },
  EffectivePolicy: { version: '7', layers: [{ layer: 'user', policy }] },
  Problem: new OmicronError('user_quota_exceeded', 'user-1 holds 3 browsers, as many as a user may hold at once', {
    retryAfterSeconds: 12,
  }).toProblem(),
};
