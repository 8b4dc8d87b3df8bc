"""A client of the controller."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, cast

import httpx

from .. import wire
from ..answers import (
    SESSIONS,
    credentials_path,
    files_path,
    policy_path,
    profile_path,
    profiles_path,
    segment,
    session_path,
    tag_pairs,
)
from ..errors import OmicronError, PlaceInLine, place_in_line
from ..retry import ABSENT_SECONDS, is_absent
from ..retry import wait_seconds as seconds_until_retry
from .connection import AsyncConnection
from .lease import AsyncConnectedBrowser, AsyncLease, LeaseOptions
from .runtime import sleep

TTL_SECONDS = 600
WAIT_SECONDS = 60.0
#: How long the controller may hold one call.
HELD_SECONDS_MAX = 60.0
#: A waiting caller is shown its place after this time, and then each `SHOW_SECONDS`.
SHOW_FIRST_SECONDS = 2.0
SHOW_SECONDS = 10.0
NETWORK_SECONDS = 15.0
#: A save reads the browser's storage, of a complete profile some hundred megabytes.
PROFILE_SECONDS = 70.0
#: A browser is leased for it.
CHECK_SECONDS = 100.0

Toolset = Literal["playwright", "core", "compat", "both"]
Snapshot = Literal["changes", "full", "none", "playwright"]
KeepFiles = Literal["none", "all"]
KeepPages = Literal["none", "last", "calls"]
Hibernate = Literal["never", "node", "expiry"]
PolicyPreset = Literal["chain-allowlist", "ssrf", "https-only"]
McpAuth = Literal["header", "url"]
ColorScheme = Literal["light", "dark"]
Permission = Literal["clipboard-read", "clipboard-write", "geolocation", "notifications"]
ProfileMode = Literal["read-write", "read-only"]
LiveRole = Literal["view", "control"]
ProfileForm = Literal["light", "complete"]
SessionState = Literal["starting", "ready", "hibernated", "ended", "error"]
OnLost = Callable[[OmicronError], None]
OnWaiting = Callable[[PlaceInLine], None]
Artifacts = list[wire.Artifact]
Files = list[wire.ListedFile]
UserActions = list[wire.UserAction]
PendingUserActions = list[wire.PendingUserAction]
Profiles = list[wire.Profile]


class AsyncBrowserSessions:
    """Asynchronous client of the controller: leases, sessions, credentials and policies.

    It returns the API's documents as they are (`omicron_browser.wire`). Every error is an OmicronError with a stable `code`.
    `service_secret` has at least 32 bytes and is shared with the controller: keep it on a server. `http_client` is another
    HTTP client, e.g. one that knows a private CA; its owner closes it, and gives it more connections than calls run at once.
    """

    def __init__(self, url: str, service_secret: str, *, http_client: httpx.AsyncClient | None = None) -> None:
        self._connection = AsyncConnection(url, service_secret, http_client)

    async def aclose(self) -> None:
        """Closes connections. Leases that are held end by their time to live."""
        await self._connection.aclose()

    async def __aenter__(self) -> AsyncBrowserSessions:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def acquire(
        self,
        user_id: str,
        conversation_id: str,
        *,
        ttl_seconds: int = TTL_SECONDS,
        record_video: bool | None = None,
        tags: Mapping[str, str] | None = None,
        toolset: Toolset | None = None,
        snapshot: Snapshot | None = None,
        keep_pages: KeepPages | None = None,
        keep_files: KeepFiles | Sequence[str] | None = None,
        hibernate: Hibernate | None = None,
        policy_presets: Sequence[PolicyPreset] | None = None,
        mcp_auth: McpAuth | None = None,
        credentials: bool | None = None,
        profile: str | None = None,
        profile_mode: ProfileMode | None = None,
        profile_form: ProfileForm | None = None,
        profile_tabs: bool | None = None,
        profile_switch: bool | None = None,
        require_credentials: bool | None = None,
        viewport: wire.Viewport | None = None,
        locale: str | None = None,
        timezone: str | None = None,
        color_scheme: ColorScheme | None = None,
        geolocation: wire.Geolocation | None = None,
        user_agent_suffix: str | None = None,
        permissions: Sequence[Permission] | None = None,
        wait_seconds: float | None = None,
        on_lost: OnLost | None = None,
        on_waiting: OnWaiting | None = None,
    ) -> AsyncLease:
        """Leases the browser of a conversation: the one it has, or a new one.

        Retries 429 and 503 as Retry-After says while `wait_seconds` allow (60 unless given, of which 3 while nothing listens at the
        controller's address), then raises the last error. That is `user_quota_exceeded`, `capacity_exceeded`, `lease_starting` (the
        browser is still starting; another call finds it) or another one.

        `on_lost` is called once when the lease is lost: superseded, ended elsewhere, or not renewable until its expiry.
        `on_waiting` is called while every browser is in use, after 2 s and then each 10 s, with the caller's place in the line.
        """
        request: dict[str, object] = {
            "user_id": user_id,
            "conversation_id": conversation_id,
            "ttl_seconds": ttl_seconds,
            "record_video": record_video,
            "tags": tags,
            "toolset": toolset,
            "snapshot": snapshot,
            "keep_pages": keep_pages,
            "keep_files": keep_files,
            "hibernate": hibernate,
            "policy_presets": policy_presets,
            "mcp_auth": mcp_auth,
            "credentials": credentials,
            "profile": profile,
            "profile_mode": profile_mode,
            "profile_form": profile_form,
            "profile_tabs": profile_tabs,
            "profile_switch": profile_switch,
            "require_credentials": require_credentials,
            "viewport": viewport,
            "locale": locale,
            "timezone": timezone,
            "color_scheme": color_scheme,
            "geolocation": geolocation,
            "user_agent_suffix": user_agent_suffix,
            "permissions": permissions,
        }
        body = {name: value for name, value in request.items() if value is not None}

        async def again(chosen: Mapping[str, object]) -> wire.Lease:
            body.update(chosen)
            answer, _ = await self._wait_for_lease(user_id, body, wait_seconds, on_waiting)
            return answer

        answer, renewed_at = await self._wait_for_lease(user_id, body, wait_seconds, on_waiting)
        return AsyncLease(self._connection, LeaseOptions(answer, user_id, ttl_seconds, renewed_at, on_lost, again))

    async def connect(
        self,
        user_id: str,
        conversation_id: str,
        *,
        ttl_seconds: int = TTL_SECONDS,
        record_video: bool | None = None,
        tags: Mapping[str, str] | None = None,
        toolset: Toolset | None = None,
        snapshot: Snapshot | None = None,
        keep_pages: KeepPages | None = None,
        keep_files: KeepFiles | Sequence[str] | None = None,
        hibernate: Hibernate | None = None,
        policy_presets: Sequence[PolicyPreset] | None = None,
        mcp_auth: McpAuth | None = None,
        credentials: bool | None = None,
        profile: str | None = None,
        profile_mode: ProfileMode | None = None,
        profile_form: ProfileForm | None = None,
        profile_tabs: bool | None = None,
        profile_switch: bool | None = None,
        require_credentials: bool | None = None,
        viewport: wire.Viewport | None = None,
        locale: str | None = None,
        timezone: str | None = None,
        color_scheme: ColorScheme | None = None,
        geolocation: wire.Geolocation | None = None,
        user_agent_suffix: str | None = None,
        permissions: Sequence[Permission] | None = None,
        wait_seconds: float | None = None,
        on_lost: OnLost | None = None,
        on_waiting: OnWaiting | None = None,
    ) -> AsyncConnectedBrowser:
        """`acquire`, then `connect` of the lease: a browser with its tools, in one call."""
        lease = await self.acquire(
            user_id,
            conversation_id,
            ttl_seconds=ttl_seconds,
            record_video=record_video,
            tags=tags,
            toolset=toolset,
            snapshot=snapshot,
            keep_pages=keep_pages,
            keep_files=keep_files,
            hibernate=hibernate,
            policy_presets=policy_presets,
            mcp_auth=mcp_auth,
            credentials=credentials,
            profile=profile,
            profile_mode=profile_mode,
            profile_form=profile_form,
            profile_tabs=profile_tabs,
            profile_switch=profile_switch,
            require_credentials=require_credentials,
            viewport=viewport,
            locale=locale,
            timezone=timezone,
            color_scheme=color_scheme,
            geolocation=geolocation,
            user_agent_suffix=user_agent_suffix,
            permissions=permissions,
            wait_seconds=wait_seconds,
            on_lost=on_lost,
            on_waiting=on_waiting,
        )
        try:
            return await lease.connect()
        except BaseException:
            await lease.release()
            raise

    async def list(
        self,
        *,
        user_id: str | None = None,
        conversation_id: str | None = None,
        status: SessionState | None = None,
        tags: Mapping[str, str] | None = None,
        archived: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> wire.SessionPage:
        """One page of sessions, newest first; all `tags` must match."""
        return await self._connection.call(
            wire.SessionPage,
            "GET",
            SESSIONS,
            user_id=user_id,
            query={
                "user_id": user_id,
                "conversation_id": conversation_id,
                "status": status,
                "tag": tag_pairs(tags),
                "archived": archived,
                "limit": limit,
                "cursor": cursor,
            },
        )

    async def get(self, session_id: str, *, user_id: str | None = None) -> wire.Session:
        """One session. With `user_id`, sessions of others are not found."""
        return await self._connection.call(wire.Session, "GET", session_path(session_id), user_id=user_id)

    async def end(self, session_id: str, *, epoch: int | None = None, user_id: str | None = None) -> wire.Session:
        """Ends the session's lease; with `epoch` only if it is that one (`lease_superseded` otherwise)."""
        return await self._connection.call(
            wire.Session, "DELETE", session_path(session_id), query={"epoch": epoch}, user_id=user_id
        )

    async def archive(self, session_id: str, *, user_id: str | None = None) -> wire.Session:
        """Ends the lease and takes the session off the list; its timeline and recordings stay."""
        path = f"{session_path(session_id)}/archive"
        return await self._connection.call(wire.Session, "POST", path, user_id=user_id)

    async def list_events(
        self,
        session_id: str,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        code: str | None = None,
        user_id: str | None = None,
    ) -> wire.EventPage:
        """A page of the session's timeline, oldest first; with `code` only events that have it."""
        path = f"{session_path(session_id)}/events"
        query: dict[str, Any] = {"cursor": cursor, "limit": limit, "code": code}
        return await self._connection.call(wire.EventPage, "GET", path, query=query, user_id=user_id)

    async def follow_events(
        self,
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        kinds: Sequence[str] = (),
        after: str | None = None,
    ) -> AsyncIterator[wire.StreamedEvent]:
        """Events of all sessions, of one user or of one session as they come, each once and in order. `after` is the `id` of the
        last event that was handled, or `start`: all events that are kept. Goes on through restarts of controllers.
        """
        query: dict[str, Any] = {"user_id": user_id, "session_id": session_id, "kind": list(kinds) or None}
        last = "0.0" if after == "start" else after
        failures = 0
        while True:
            try:
                response = await self._connection.stream("/internal/events", query, last, user_id)
                try:
                    data = ""
                    async for line in response.aiter_lines():
                        if line.startswith("data: "):
                            data = line[len("data: ") :]
                        elif line == "" and data != "":  # the event is whole
                            event = self._connection.document(wire.StreamedEvent, json.loads(data))
                            data, last, failures = "", event["id"], 0
                            yield event
                finally:
                    await response.aclose()
                lost = OmicronError("controller_unreachable", "The stream of events ended.")
            except httpx.TransportError:
                lost = OmicronError("controller_unreachable", "The stream of events broke off.")
            except OmicronError as error:
                if not error.may_retry:
                    raise
                lost = error
            await sleep(seconds_until_retry(lost, failures))
            failures += 1

    async def list_artifacts(self, session_id: str, *, user_id: str | None = None) -> Artifacts:
        """Videos, files and pages that are kept of the session."""
        path = f"{session_path(session_id)}/artifacts"
        return (await self._connection.call(wire.ArtifactList, "GET", path, user_id=user_id))["artifacts"]

    async def read_artifact(
        self,
        session_id: str,
        artifact_id: str,
        *,
        start: int | None = None,
        end: int | None = None,
        user_id: str | None = None,
    ) -> bytes:
        """The bytes of a stored artifact, or those from `start` to `end`, both inclusive. Raises `artifact_not_found`."""
        path = f"{session_path(session_id)}/artifacts/{segment(artifact_id)}/content"
        return await self._bytes(path, start, end, user_id)

    async def create_artifact_url(
        self, session_id: str, artifact_id: str, *, ttl_seconds: int | None = None, user_id: str | None = None
    ) -> wire.ArtifactUrl:
        """A URL of S3 that reads the artifact without a token, in parts too, until it expires: a minute, or up to five.

        Raises `artifact_urls_unavailable` where artifacts are in a folder.
        """
        path = f"{session_path(session_id)}/artifacts/{segment(artifact_id)}/url"
        body = {} if ttl_seconds is None else {"ttl_seconds": ttl_seconds}
        return await self._connection.call(wire.ArtifactUrl, "POST", path, body=body, user_id=user_id)

    async def put_file(
        self, session_id: str, name: str, content: bytes, *, user_id: str | None = None
    ) -> wire.SessionFile:
        """Brings a file to the session's running browser: agents name it in `browser_file_upload`.

        A name is given once in a lease; the same content again changes nothing. Raises `file_exists`, `payload_too_large`,
        `files_quota_exceeded`, `lease_ended`.
        """
        path = f"{files_path(session_id)}/{segment(name)}"
        answer = await self._connection.transfer("PUT", path, content=content, user_id=user_id)
        return self._connection.document(wire.SessionFile, answer.json())

    async def list_files(self, session_id: str, *, user_id: str | None = None) -> Files:
        """Files brought in and downloaded by the browser, also after the lease's end; of equal names the newest."""
        return (await self._connection.call(wire.FileList, "GET", files_path(session_id), user_id=user_id))["files"]

    async def read_file(
        self,
        session_id: str,
        name: str,
        *,
        start: int | None = None,
        end: int | None = None,
        user_id: str | None = None,
    ) -> bytes:
        """The bytes of a file, or those from `start` to `end`, both inclusive. Raises `file_not_found`."""
        return await self._bytes(f"{files_path(session_id)}/{segment(name)}", start, end, user_id)

    async def list_user_actions(self, session_id: str, *, user_id: str | None = None) -> UserActions:
        """Requests of the session's agents to their user, oldest first."""
        path = f"{session_path(session_id)}/user-actions"
        return (await self._connection.call(wire.UserActionList, "GET", path, user_id=user_id))["user_actions"]

    async def answer_user_action(
        self, session_id: str, action_id: str, answer: wire.UserActionAnswer, *, user_id: str | None = None
    ) -> wire.UserAction:
        """Answers one user action; the first answer counts."""
        path = f"{session_path(session_id)}/user-actions/{segment(action_id)}"
        return await self._connection.call(wire.UserAction, "POST", path, body=answer, user_id=user_id)

    async def list_pending_user_actions(self) -> PendingUserActions:
        """Requests of all agents that wait for an answer, with the user of each; oldest first, at most 200."""
        path = "/internal/user-actions"
        return (await self._connection.call(wire.PendingUserActionList, "GET", path))["user_actions"]

    async def create_live_token(
        self,
        session_id: str,
        *,
        role: LiveRole = "view",
        viewer: str | None = None,
        viewer_id: str | None = None,
        user_id: str | None = None,
    ) -> wire.LiveTokenAnswer:
        """A token that opens one live view of the running browser, within a minute (docs/live-view.md).

        `viewer` is the name that other people read, `viewer_id` the person's id at the platform. With `user_id` a session of
        another user is refused; without it the caller checks whose session it is.
        """
        path = f"{session_path(session_id)}/live-token"
        given = {"role": role, "viewer": viewer, "viewer_id": viewer_id}
        body = {name: value for name, value in given.items() if value is not None}
        return await self._connection.call(wire.LiveTokenAnswer, "POST", path, body=body, user_id=user_id)

    async def get_usage(
        self,
        *,
        by: str | None = None,
        user_id: str | None = None,
        tags: Mapping[str, str] | None = None,
        since: str | None = None,
        until: str | None = None,
        limit: int | None = None,
    ) -> wire.UsageReport:
        """Usage of users in a period, or of sessions by a tag (`by="tag:team"`); the most lease seconds first.

        `since` and `until` are ISO 8601; by default the last 30 days.
        """
        query = {"by": by, "user_id": user_id, "tag": tag_pairs(tags), "since": since, "until": until, "limit": limit}
        return await self._connection.call(wire.UsageReport, "GET", "/internal/usage", user_id=user_id, query=query)

    async def delete_user(self, user_id: str) -> wire.UserErasure:
        """Removes all of a user: sessions, events, files, videos, profiles, credentials, policies, user actions.

        The controller goes on by itself while `done` is false; repeat the call to learn when it is done.
        """
        path = f"/internal/users/{segment(user_id)}"
        return await self._connection.call(wire.UserErasure, "DELETE", path, user_id=user_id)

    async def list_credentials(self, user_id: str) -> wire.CredentialList:
        """Site keys and the names an agent uses in place of the values; never a value."""
        return await self._connection.call(wire.CredentialList, "GET", credentials_path(user_id), user_id=user_id)

    async def put_credential(self, user_id: str, site: str, credential: wire.Credential) -> None:
        """Stores or replaces the credential of one site; leases that begin from now on have it."""
        path = f"{credentials_path(user_id)}/{segment(site)}"
        await self._connection.send("PUT", path, body=credential, user_id=user_id)

    async def delete_credential(self, user_id: str, site: str) -> None:
        """Deletes the credential of one site."""
        await self._connection.send("DELETE", f"{credentials_path(user_id)}/{segment(site)}", user_id=user_id)

    async def list_profiles(self, user_id: str) -> Profiles:
        """The user's profiles by name, with the domains that are logged in."""
        path = profiles_path(user_id)
        return (await self._connection.call(wire.ProfileList, "GET", path, user_id=user_id))["profiles"]

    async def get_profile(self, user_id: str, name: str) -> wire.ProfileDetail:
        """One profile with the versions that are kept. Raises `profile_not_found`."""
        return await self._connection.call(wire.ProfileDetail, "GET", profile_path(user_id, name), user_id=user_id)

    async def save_profile(self, user_id: str, name: str) -> int:
        """Saves the profile now, e.g. right after a login, from the browser of the lease that has it for writing.

        The version that holds it. Raises `lease_ended` where no lease has it.
        """
        return await self._write_profile("POST", f"{profile_path(user_id, name)}/save", user_id)

    async def snapshot_profile(self, user_id: str, name: str) -> int:
        """`save_profile` by another name."""
        return await self.save_profile(user_id, name)

    async def set_profile(
        self,
        user_id: str,
        conversation_id: str,
        profile: str | None,
        *,
        profile_mode: ProfileMode | None = None,
        wait_seconds: float | None = None,
    ) -> AsyncLease:
        """`acquire` with this profile, or none, also where the conversation's live lease has another one.

        That lease saves its own and ends, and the conversation goes on with another browser. Raises `profile_in_use`;
        then the lease stays as it is.
        """
        return await self.acquire(
            user_id,
            conversation_id,
            profile=profile,
            profile_mode=profile_mode,
            profile_switch=True,
            wait_seconds=wait_seconds,
        )

    async def check_profile(
        self, user_id: str, name: str, url: str, *, selector: str | None = None, text: str | None = None
    ) -> wire.ProfileCheck:
        """Whether a login of the saved profile still holds: opens a page in a browser of its own and looks for a selector or text.

        Takes up to a minute, and a place within the user's quota. Raises `profile_not_found`, `user_quota_exceeded`, ...
        """
        page = {"url": url, "selector": selector, "text": text}
        return await self._connection.call(
            wire.ProfileCheck,
            "POST",
            f"{profile_path(user_id, name)}/check",
            user_id=user_id,
            body={key: value for key, value in page.items() if value is not None},
            timeout_seconds=CHECK_SECONDS,
        )

    async def restore_profile(self, user_id: str, name: str, version: int | None = None) -> int:
        """Makes an older version the current one, as a new version: the one before it unless given.

        Raises `profile_in_use` while a lease has the profile.
        """
        path = f"{profile_path(user_id, name)}/restore"
        return await self._write_profile("POST", path, user_id, {} if version is None else {"version": version})

    async def delete_profile(self, user_id: str, name: str) -> None:
        """Deletes the profile with all its versions. Raises `profile_in_use` while a lease has it for writing."""
        await self._connection.send("DELETE", profile_path(user_id, name), user_id=user_id)

    async def export_profile(self, user_id: str, name: str) -> wire.ProfileState:
        """The current version as Playwright's storageState. Its holder is logged in as the user."""
        path = f"{profile_path(user_id, name)}/state"
        return await self._connection.call(
            wire.ProfileState, "GET", path, user_id=user_id, timeout_seconds=PROFILE_SECONDS
        )

    async def import_profile(self, user_id: str, name: str, state: Mapping[str, Any]) -> int:
        """Stores a storageState as the current version; makes the profile where there is none."""
        return await self._write_profile("PUT", f"{profile_path(user_id, name)}/state", user_id, state)

    async def _bytes(self, path: str, start: int | None, end: int | None, user_id: str | None) -> bytes:
        whole = start is None and end is None
        byte_range = None if whole else f"bytes={start or 0}-{'' if end is None else end}"
        return (await self._connection.transfer("GET", path, byte_range=byte_range, user_id=user_id)).content

    async def _write_profile(self, method: str, path: str, user_id: str, body: object = None) -> int:
        saved = await self._connection.call(
            wire.ProfileSaved, method, path, user_id=user_id, body=body, timeout_seconds=PROFILE_SECONDS
        )
        return saved["version"]

    async def get_policy(self, *, session_id: str | None = None, user_id: str | None = None) -> wire.Policy | None:
        """The document of one layer: a session's, a user's, or the deployment's. None: none is set."""
        path = policy_path(session_id, user_id)
        return (await self._connection.call(wire.PolicyAnswer, "GET", path))["policy"]

    async def put_policy(
        self, policy: Mapping[str, Any], *, session_id: str | None = None, user_id: str | None = None
    ) -> wire.Policy:
        """Replaces the document of one layer; running leases obey it within seconds.

        An invalid one is refused (`invalid_request`, `errors` name the paths) and the one before stays in force.
        """
        path = policy_path(session_id, user_id)
        return cast("wire.Policy", (await self._connection.call(wire.PolicyAnswer, "PUT", path, body=policy))["policy"])

    async def delete_policy(self, *, session_id: str | None = None, user_id: str | None = None) -> None:
        """Deletes the document of one layer."""
        await self._connection.send("DELETE", policy_path(session_id, user_id))

    async def get_effective_policy(self, session_id: str, *, user_id: str | None = None) -> wire.EffectivePolicy:
        """Every layer that applies to a session, widest first."""
        path = f"{session_path(session_id)}/policy/effective"
        return await self._connection.call(wire.EffectivePolicy, "GET", path, user_id=user_id)

    async def _wait_for_lease(
        self, user_id: str, body: dict[str, object], wait_seconds: float | None, on_waiting: OnWaiting | None
    ) -> tuple[wire.Lease, float]:
        """The answer, and the monotonic time before the request that it answers."""
        began = time.monotonic()
        deadline = began + (WAIT_SECONDS if wait_seconds is None else wait_seconds)
        absent_deadline = deadline if wait_seconds is not None else began + ABSENT_SECONDS
        held_seconds_max = HELD_SECONDS_MAX if on_waiting is None else SHOW_FIRST_SECONDS
        absent = True
        attempt = 0
        while True:
            sent_at = time.monotonic()
            try:
                held_seconds = min(max(0.0, deadline - sent_at), held_seconds_max)
                return await self._get_or_create(user_id, body, held_seconds), sent_at
            except OmicronError as error:
                absent = absent and is_absent(error)
                seconds = seconds_until_retry(error, attempt, time.monotonic() - sent_at)
                if not error.may_retry or time.monotonic() + seconds > (absent_deadline if absent else deadline):
                    raise
                place = place_in_line(error)
                if on_waiting is not None and place is not None:
                    held_seconds_max = SHOW_SECONDS
                    on_waiting(place)
                await sleep(seconds)
                attempt += 1

    async def _get_or_create(self, user_id: str, body: Mapping[str, object], held_seconds: float) -> wire.Lease:
        """One attempt. Raises `lease_starting` when the controller's wait was not long enough."""
        value, retry_after_seconds = await self._connection.send(
            "POST",
            f"{SESSIONS}/get-or-create",
            user_id=user_id,
            body={**body, "wait_seconds": held_seconds},
            timeout_seconds=held_seconds + NETWORK_SECONDS,
        )
        lease = self._connection.document(wire.Lease, value)
        if lease["status"] == "ready":
            return lease
        raise OmicronError(
            "lease_starting",
            "The browser is still starting; ask again for the same session.",
            retry_after_seconds=1 if retry_after_seconds is None else retry_after_seconds,
            extra={"session_id": lease["session_id"]},
        )
