"""Documents of the API, written by generate.py from docs/openapi.json."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypedDict

from typing_extensions import NotRequired


class AddedWebhook(TypedDict):
    id: str
    url: str
    kinds: list[str] | None
    user_id: str | None
    description: str
    created_at: str
    paused_at: str | None
    delivered_at: str | None
    waiting_sessions: int
    waiting_since: str | None
    last_error: str | None
    failed: int
    secret: str


class AnsweredBy(TypedDict):
    viewer: str
    identity: str


class Artifact(TypedDict):
    id: str
    session_id: str
    epoch: int
    runner_id: str
    kind: Literal["video", "file", "page"]
    name: str
    state: Literal["stored", "lost", "expired"]
    uri: str | None
    bytes: int | None
    reason: str | None
    created_at: str


class ArtifactList(TypedDict):
    artifacts: list[Artifact]


class ArtifactUrl(TypedDict):
    url: str
    expires_at: str


class ArtifactUrlRequest(TypedDict):
    ttl_seconds: NotRequired[int]


class AskedCredential(TypedDict):
    site: str
    host: str
    target: str


class ClientCertificateInput(TypedDict):
    certificate: NotRequired[str]
    key: NotRequired[str]
    pkcs12: NotRequired[str]
    passphrase: NotRequired[str]


class Condition1(TypedDict):
    path: str
    operator: Literal["regex"]
    value: str


class Condition2(TypedDict):
    path: str
    operator: Literal["notRegex"]
    value: str


class Condition3(TypedDict):
    path: str
    operator: Literal["contains"]
    value: str


class Condition4(TypedDict):
    path: str
    operator: Literal["notContains"]
    value: str


class Condition5(TypedDict):
    path: str
    operator: Literal["startsWith"]
    value: str


class Condition6(TypedDict):
    path: str
    operator: Literal["notStartsWith"]
    value: str


class Condition7(TypedDict):
    path: str
    operator: Literal["endsWith"]
    value: str


class Condition8(TypedDict):
    path: str
    operator: Literal["notEndsWith"]
    value: str


class Condition9(TypedDict):
    path: str
    operator: Literal["equal"]
    value: str | float | bool


class Condition10(TypedDict):
    path: str
    operator: Literal["notEqual"]
    value: str | float | bool


class Condition11(TypedDict):
    path: str
    operator: Literal["in_list"]
    value: list[str | float | bool]


class Condition12(TypedDict):
    path: str
    operator: Literal["not_in_list"]
    value: list[str | float | bool]


Condition: TypeAlias = (
    Condition1
    | Condition2
    | Condition3
    | Condition4
    | Condition5
    | Condition6
    | Condition7
    | Condition8
    | Condition9
    | Condition10
    | Condition11
    | Condition12
)


class ConditionInput1(TypedDict):
    path: str
    operator: Literal["regex"]
    value: str


class ConditionInput2(TypedDict):
    path: str
    operator: Literal["notRegex"]
    value: str


class ConditionInput3(TypedDict):
    path: str
    operator: Literal["contains"]
    value: str


class ConditionInput4(TypedDict):
    path: str
    operator: Literal["notContains"]
    value: str


class ConditionInput5(TypedDict):
    path: str
    operator: Literal["startsWith"]
    value: str


class ConditionInput6(TypedDict):
    path: str
    operator: Literal["notStartsWith"]
    value: str


class ConditionInput7(TypedDict):
    path: str
    operator: Literal["endsWith"]
    value: str


class ConditionInput8(TypedDict):
    path: str
    operator: Literal["notEndsWith"]
    value: str


class ConditionInput9(TypedDict):
    path: str
    operator: Literal["equal"]
    value: str | float | bool


class ConditionInput10(TypedDict):
    path: str
    operator: Literal["notEqual"]
    value: str | float | bool


class ConditionInput11(TypedDict):
    path: str
    operator: Literal["in_list"]
    value: list[str | float | bool]


class ConditionInput12(TypedDict):
    path: str
    operator: Literal["not_in_list"]
    value: list[str | float | bool]


ConditionInput: TypeAlias = (
    ConditionInput1
    | ConditionInput2
    | ConditionInput3
    | ConditionInput4
    | ConditionInput5
    | ConditionInput6
    | ConditionInput7
    | ConditionInput8
    | ConditionInput9
    | ConditionInput10
    | ConditionInput11
    | ConditionInput12
)


UrlItem: TypeAlias = str


class Credential(TypedDict):
    username: NotRequired[str]
    password: NotRequired[str]
    client_certificate: NotRequired[ClientCertificateInput]
    totp: NotRequired[str]
    url: NotRequired[str | list[UrlItem]]


class Site(TypedDict):
    site: str
    secret_names: list[str]
    client_certificate: NotRequired[bool]
    url: NotRequired[list[str]]
    filled_on: list[str]
    problem: str | None


class CredentialList(TypedDict):
    sites: list[Site]


KeepFile: TypeAlias = str


class Viewport(TypedDict):
    width: int
    height: int


class Geolocation(TypedDict):
    latitude: float
    longitude: float
    accuracy: NotRequired[float]


class GetOrCreateRequest(TypedDict):
    user_id: str
    conversation_id: str
    ttl_seconds: NotRequired[int]
    record_video: NotRequired[bool]
    wait_seconds: NotRequired[float]
    require_credentials: NotRequired[bool]
    credentials: NotRequired[bool]
    tags: NotRequired[dict[str, str]]
    mcp_auth: NotRequired[Literal["header", "url"]]
    toolset: NotRequired[Literal["playwright", "core", "compat", "both"]]
    snapshot: NotRequired[Literal["changes", "full", "none", "playwright"]]
    keep_pages: NotRequired[Literal["none", "last", "calls"]]
    keep_files: NotRequired[Literal["none", "all"] | list[KeepFile]]
    policy_presets: NotRequired[list[Literal["chain-allowlist", "ssrf", "https-only"]]]
    profile: NotRequired[str | None]
    profile_mode: NotRequired[Literal["read-write", "read-only"]]
    profile_form: NotRequired[Literal["light", "complete"]]
    profile_tabs: NotRequired[bool]
    profile_switch: NotRequired[bool]
    hibernate: NotRequired[Literal["never", "node", "expiry"]]
    viewport: NotRequired[Viewport]
    locale: NotRequired[str]
    timezone: NotRequired[str]
    color_scheme: NotRequired[Literal["light", "dark"]]
    geolocation: NotRequired[Geolocation]
    user_agent_suffix: NotRequired[str]
    permissions: NotRequired[list[Literal["clipboard-read", "clipboard-write", "geolocation", "notifications"]]]


class HeartbeatAnswer(TypedDict):
    mcp_headers: NotRequired[dict[str, str] | None]
    session_id: str
    status: Literal["starting", "ready", "hibernated"]
    epoch: int
    expires_at: str
    ends_at: str
    last_used_at: str


class HeartbeatRequest(TypedDict):
    epoch: NotRequired[int]


class Lease(TypedDict):
    session_id: str
    status: Literal["starting", "ready"]
    epoch: int
    mcp_url: str | None
    mcp_headers: dict[str, str] | None
    expires_at: str
    ends_at: str


class ListedFile(TypedDict):
    name: str
    source: Literal["upload", "download"]
    bytes: int
    mime_type: str
    epoch: int


LiveRole: TypeAlias = Literal["view", "control"]


LiveRoleInput: TypeAlias = Literal["view", "control"]


class LiveTokenAnswer(TypedDict):
    token: str
    role: LiveRole
    epoch: int
    expires_at: str


class LiveTokenRequest(TypedDict):
    role: NotRequired[LiveRoleInput]
    viewer: NotRequired[str]
    viewer_id: NotRequired[str]


class PendingUserAction(TypedDict):
    id: str
    session_id: str
    epoch: int
    reason: str
    credential: AskedCredential | None
    status: Literal["pending", "done", "declined", "expired"]
    note: str | None
    created_at: str
    expires_at: str
    answered_at: str | None
    answered_by: AnsweredBy | None
    user_id: str
    conversation_id: str


class PendingUserActionList(TypedDict):
    user_actions: list[PendingUserAction]


Credential1: TypeAlias = str


class Defaults(TypedDict):
    tools: NotRequired[Literal["allow", "block_always"]]
    untrustedContext: NotRequired[Literal["allow", "block"]]


class Error(TypedDict):
    path: str
    message: str


class Problem(TypedDict):
    type: str
    title: str
    status: int
    code: Literal[
        "invalid_request",
        "unauthorized",
        "forbidden",
        "origin_refused",
        "session_not_found",
        "artifact_not_found",
        "user_action_not_found",
        "file_not_found",
        "profile_not_found",
        "webhook_not_found",
        "credential_not_found",
        "route_not_found",
        "method_not_allowed",
        "lease_superseded",
        "lease_ended",
        "lease_in_use",
        "file_exists",
        "profile_in_use",
        "profile_changed",
        "profile_mismatch",
        "provider_mismatch",
        "assignment_refused",
        "redemption_refused",
        "predecessor_draining",
        "payload_too_large",
        "profile_too_large",
        "unsupported_media_type",
        "credentials_not_configured",
        "profiles_not_configured",
        "artifact_urls_unavailable",
        "not_held_remotely",
        "webhooks_quota_exceeded",
        "files_quota_exceeded",
        "profile_unreadable",
        "profile_quota_exceeded",
        "user_quota_exceeded",
        "capacity_exceeded",
        "too_many_requests",
        "internal_error",
        "runner_start_failed",
        "browser_crashed",
        "sandbox_runtime_required",
        "store_unavailable",
        "profile_unavailable",
        "secrets_unavailable",
        "issuer_unavailable",
        "shutting_down",
        "controller_unreachable",
        "browser_unreachable",
        "lease_starting",
    ]
    detail: str
    session_id: NotRequired[str]
    retry_after_seconds: NotRequired[int]
    limit: NotRequired[int]
    active: NotRequired[int]
    position: NotRequired[int]
    expected_wait_seconds: NotRequired[int]
    errors: NotRequired[list[Error]]


class ProfileCheck(TypedDict):
    logged_in: bool | None
    url: str


class ProfileCheckRequest(TypedDict):
    url: str
    selector: NotRequired[str]
    text: NotRequired[str]


class ProfileDomain(TypedDict):
    domain: str
    expires_at: str | None
    logged_in: bool


class ProfileRestoreRequest(TypedDict):
    version: NotRequired[int]


class ProfileSaved(TypedDict):
    version: int


class Cookie(TypedDict):
    name: str
    value: str
    domain: str
    path: str
    expires: float
    httpOnly: bool
    secure: bool
    sameSite: Literal["Strict", "Lax", "None"]


class LocalStorageItem(TypedDict):
    name: str
    value: str


class Origin(TypedDict):
    origin: str
    localStorage: list[LocalStorageItem]
    indexedDB: NotRequired[list[dict[str, Any]]]


class ProfileState(TypedDict):
    cookies: list[Cookie]
    origins: list[Origin]


class Origin1(TypedDict):
    origin: str
    localStorage: list[LocalStorageItem]
    indexedDB: NotRequired[list[dict[str, Any]]]


class ProfileStateInput(TypedDict):
    cookies: list[Cookie]
    origins: list[Origin1]


class ProfileVersion(TypedDict):
    version: int
    form: Literal["light", "complete"]
    bytes: int
    saved_at: str
    session_id: str | None


class ReleaseRequest(TypedDict):
    epoch: NotRequired[int]


class Session(TypedDict):
    session_id: str
    user_id: str
    conversation_id: str
    status: Literal["starting", "ready", "hibernated", "ended", "error"]
    epoch: int
    runner_id: str | None
    provider: str
    mcp_url: str | None
    tags: dict[str, str]
    record_video: bool
    ttl_seconds: int
    created_at: str
    updated_at: str
    last_used_at: str
    expires_at: str
    ends_at: str
    archived_at: str | None
    released_at: str | None
    ended_reason: (
        Literal[
            "released",
            "expired",
            "max_age",
            "evicted",
            "archived",
            "shutdown",
            "runner_lost",
            "runner_start_failed",
            "sandbox_runtime_required",
            "start_timed_out",
        ]
        | None
    )
    error: str | None
    artifacts_prefix: str | None


class SessionEvent(TypedDict):
    id: str
    session_id: str
    epoch: int
    at: str
    kind: str
    data: dict[str, Any]


class SessionFile(TypedDict):
    name: str
    source: Literal["upload", "download"]
    bytes: int
    mime_type: str


class SessionPage(TypedDict):
    sessions: list[Session]
    next_cursor: str | None


AllowItem: TypeAlias = str


DenyItem: TypeAlias = str


Port: TypeAlias = int


class SiteRules(TypedDict):
    allow: NotRequired[list[AllowItem]]
    deny: NotRequired[list[DenyItem]]
    httpsOnly: NotRequired[bool]
    ports: NotRequired[list[Port]]


class SiteRulesInput(TypedDict):
    allow: NotRequired[list[AllowItem]]
    deny: NotRequired[list[DenyItem]]
    httpsOnly: NotRequired[bool]
    ports: NotRequired[list[Port]]


class StreamedEvent(TypedDict):
    id: str
    session_id: str
    epoch: int
    at: str
    kind: str
    data: dict[str, Any]
    user_id: str
    conversation_id: str


Tool: TypeAlias = str


ExceptItem: TypeAlias = str


ToolRule = TypedDict(
    "ToolRule",
    {
        "tools": list[Tool],
        "except": NotRequired[list[ExceptItem]],
        "when": list[Condition],
        "action": Literal["allow", "block_always", "allow_when_context_is_untrusted"],
        "reason": NotRequired[str],
    },
)


ToolRuleInput = TypedDict(
    "ToolRuleInput",
    {
        "tools": list[Tool],
        "except": NotRequired[list[ExceptItem]],
        "when": NotRequired[list[ConditionInput]],
        "action": Literal["allow", "block_always", "allow_when_context_is_untrusted"],
        "reason": NotRequired[str],
    },
)


class Usage(TypedDict):
    name: str | None
    sessions: int
    leases: int
    lease_seconds: float
    artifacts: int
    artifact_bytes: int


class UsageTotal(TypedDict):
    sessions: int
    leases: int
    lease_seconds: float
    artifacts: int
    artifact_bytes: int


class UserAction(TypedDict):
    id: str
    session_id: str
    epoch: int
    reason: str
    credential: AskedCredential | None
    status: Literal["pending", "done", "declined", "expired"]
    note: str | None
    created_at: str
    expires_at: str
    answered_at: str | None
    answered_by: AnsweredBy | None


class UserActionAnswer(TypedDict):
    status: Literal["done", "declined"]
    note: NotRequired[str]
    always: NotRequired[bool]
    viewer: NotRequired[str]
    viewer_id: NotRequired[str]


class UserActionList(TypedDict):
    user_actions: list[UserAction]


class Removed(TypedDict):
    sessions: int
    events: int
    videos: int
    files: int
    pages: int
    profiles: int
    credentials: int
    policies: int
    user_actions: int


class UserErasure(TypedDict):
    user_id: str
    done: bool
    removed: Removed


class Webhook(TypedDict):
    id: str
    url: str
    kinds: list[str] | None
    user_id: str | None
    description: str
    created_at: str
    paused_at: str | None
    delivered_at: str | None
    waiting_sessions: int
    waiting_since: str | None
    last_error: str | None
    failed: int


class WebhookFailure(TypedDict):
    id: str
    session_id: str
    epoch: int
    at: str
    kind: str
    data: dict[str, Any]
    user_id: str
    conversation_id: str
    attempts: int
    error: str
    failed_at: str
    replaying: bool


class WebhookFailurePage(TypedDict):
    failures: list[WebhookFailure]
    next_cursor: str | None


class WebhookReplayed(TypedDict):
    replayed: int


class WebhookSecret(TypedDict):
    secret: str
    both_until: str


class WebhookTest(TypedDict):
    delivered: bool
    status: int | None
    error: str | None
    duration_ms: int


class EventPage(TypedDict):
    events: list[SessionEvent]
    next_cursor: str | None


class FileList(TypedDict):
    files: list[ListedFile]


Policy = TypedDict(
    "Policy",
    {
        "$schema": NotRequired[str],
        "version": Literal[1],
        "tools": list[ToolRule],
        "sites": SiteRules,
        "credentials": dict[str, list[Credential1]],
        "defaults": Defaults,
    },
)


class PolicyAnswer(TypedDict):
    policy: Policy | None


PolicyInput = TypedDict(
    "PolicyInput",
    {
        "$schema": NotRequired[str],
        "version": Literal[1],
        "tools": NotRequired[list[ToolRuleInput]],
        "sites": NotRequired[SiteRulesInput],
        "credentials": NotRequired[dict[str, list[Credential1]]],
        "defaults": NotRequired[Defaults],
    },
)


class Profile(TypedDict):
    user_id: str
    name: str
    version: int
    bytes: int
    created_at: str
    last_used_at: str
    saved_at: str | None
    domains: list[ProfileDomain]
    writer_session_id: str | None


class ProfileDetail(TypedDict):
    user_id: str
    name: str
    version: int
    bytes: int
    created_at: str
    last_used_at: str
    saved_at: str | None
    domains: list[ProfileDomain]
    writer_session_id: str | None
    versions: list[ProfileVersion]


class ProfileList(TypedDict):
    profiles: list[Profile]


class UsageReport(TypedDict):
    since: str
    until: str
    by: str
    usage: list[Usage]
    total: UsageTotal


class Layer(TypedDict):
    layer: Literal["deployment", "user", "session"]
    policy: Policy


class EffectivePolicy(TypedDict):
    version: str
    layers: list[Layer]
