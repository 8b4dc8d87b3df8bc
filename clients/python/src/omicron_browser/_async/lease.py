"""A session's hold on its browser."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any, TypeVar

from .. import wire
from ..answers import instant, session_path
from ..errors import OmicronError, lease_ended, lease_released
from ..mcp_messages import Tool, ToolResult, not_carried_out
from ..retry import wait_seconds
from .connection import AsyncConnection
from .mcp import AsyncMcp
from .runtime import Lock, Renewal

Result = TypeVar("Result")

#: Two heartbeats in a row may fail without the lease being lost.
HEARTBEATS_PER_TTL = 3
#: A heartbeat that takes longer counts as failed; another one follows.
HEARTBEAT_TIMEOUT_SECONDS = 10.0
#: Whoever releases a lease goes on without it.
RELEASE_TIMEOUT_SECONDS = 3.0

#: The tool by which an agent goes on with another profile: its lease is followed by one in another epoch, at another address.
SWITCH_TOOL = "setProfile"


Answer = wire.Lease


@dataclass(frozen=True)
class LeaseOptions:
    """Parts of a lease."""

    answer: Answer
    user_id: str
    ttl_seconds: int
    renewed_at: float
    """Monotonic time before the request was sent that this lease answers."""
    on_lost: Callable[[OmicronError], None] | None
    again: Callable[[Mapping[str, object]], Awaitable[Answer]]
    """Asks for the browser of the hibernated session."""


class AsyncLease:
    """A session's hold on its browser: connect an MCP client to `mcp_url` with `headers`.

    Until it is released, ended or lost, heartbeats run by themselves. At the end of its `async with` block it is released.
    """

    epoch: int
    mcp_url: str
    headers: Mapping[str, str]
    expires_at: datetime
    ends_at: datetime
    _renewed_at: float

    def __init__(self, connection: AsyncConnection, options: LeaseOptions) -> None:
        self.session_id = options.answer["session_id"]
        self._connection = connection
        self._options = options
        self._take(options.answer, options.renewed_at)
        self._is_hibernated = False
        self._is_switching = False
        self._restoring = Lock()
        self._failures = 0
        self._over: OmicronError | None = None
        self._has_ended = False
        self._renewal = Renewal(self._renew)

    @property
    def lost(self) -> OmicronError | None:
        """Why the lease is over: lost, released or ended. None while it is held."""
        return self._over

    async def connect(self) -> AsyncConnectedBrowser:
        """Connects to the browser and lists its tools."""
        browser = AsyncConnectedBrowser(self, self._mcp())
        await browser._connect()
        return browser

    async def heartbeat(self) -> None:
        """Renews the lease now. Raises `lease_superseded` or `lease_ended` when it is lost."""
        if self._over is not None:
            raise self._over
        sent_at = time.monotonic()
        epoch = self.epoch
        try:
            answer = await self._connection.call(
                wire.HeartbeatAnswer,
                "POST",
                f"{session_path(self.session_id)}/heartbeat",
                user_id=self._options.user_id,
                body={"epoch": epoch},
                timeout_seconds=HEARTBEAT_TIMEOUT_SECONDS,
            )
        except OmicronError as error:
            if epoch != self.epoch or self._is_switching:  # it came back meanwhile, or does
                return
            if not error.may_retry:
                self._lose(error)
            raise
        if epoch != self.epoch:
            return
        self._is_hibernated = answer["status"] == "hibernated"
        self._renewed_at = max(self._renewed_at, sent_at)
        self.headers = answer.get("mcp_headers") or self.headers
        self.expires_at = instant(answer["expires_at"])
        self.ends_at = instant(answer["ends_at"])

    async def release(self) -> None:
        """Lets the lease go and leaves the browser as it is.

        The lease ends when it is unused for its time to live, and the next request of the conversation finds its tabs. Until
        then it gives way where its user, or the deployment, has no other place. Repeating it changes nothing; a controller that
        cannot be reached is no error.
        """
        held = self._over is None
        self._over = self._over or lease_released()
        await self._renewal.stop()
        if not held:
            return
        with suppress(OmicronError, RuntimeError):  # it is not renewed any more, so it idles out all the same
            await self._connection.call(
                wire.Session,
                "POST",
                f"{session_path(self.session_id)}/release",
                user_id=self._options.user_id,
                body={"epoch": self.epoch},
                timeout_seconds=RELEASE_TIMEOUT_SECONDS,
            )

    async def end(self) -> None:
        """Ends the lease, also after `release`: its browser closes and its recordings are stored. May be repeated."""
        self._over = self._over or lease_ended()
        await self._renewal.stop()
        if self._has_ended:
            return
        try:
            await self._connection.call(
                wire.Session,
                "DELETE",
                session_path(self.session_id),
                user_id=self._options.user_id,
                query={"epoch": self.epoch},
            )
        except OmicronError as error:
            # a newer lease of the session exists, so this one has ended
            if error.code != "lease_superseded":
                raise
        self._has_ended = True

    async def __aenter__(self) -> AsyncLease:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.release()

    async def _explained(self, call: Callable[[], Awaitable[Result]]) -> Result:
        """A browser that does not answer, or refuses the token, may be one whose lease has ended: then that is the error.

        A hibernated one is brought back; a call that was not carried out is made then, and so is one whose token alone has
        expired, with the next one.
        """
        if self._over is not None:
            raise self._over
        headers, epoch = self.headers, self.epoch
        try:
            return await call()
        except OmicronError as error:
            if error.code != "invalid_request" and await self._is_over():
                raise self._over or error from error
            restored = await self._restored(epoch)
            has_new_token = error.code == "unauthorized" and self.headers != headers
            if not has_new_token and not (restored and not_carried_out(error)):
                raise
        return await call()

    async def _restored(self, epoch: int) -> bool:
        """Brings back a browser that was hibernated since `epoch`. False: it was not."""
        async with self._restoring:
            if self.epoch == epoch and self._is_hibernated and self._over is None:
                sent_at = time.monotonic()
                self._take(await self._options.again({}), sent_at)
                self._is_hibernated = False
            return self.epoch != epoch

    async def _switched(self, call: Callable[[], Awaitable[ToolResult]], arguments: Mapping[str, Any]) -> ToolResult:
        """Makes a call of `setProfile`; where it succeeds, goes on with the lease that follows this one."""
        self._is_switching = True
        try:
            result = await call()
            if not result.is_error:
                sent_at = time.monotonic()
                chosen = {"profile": arguments.get("profileName"), "profile_mode": arguments.get("mode", "read-write")}
                self._take(await self._options.again(chosen), sent_at)
            return result
        finally:
            self._is_switching = False

    def _take(self, answer: Answer, renewed_at: float) -> None:
        self.epoch = answer["epoch"]
        self.mcp_url = answer["mcp_url"] or ""
        self.headers = answer["mcp_headers"] or {}
        self.expires_at = instant(answer["expires_at"])
        self.ends_at = instant(answer["ends_at"])
        self._renewed_at = renewed_at

    def _mcp(self) -> AsyncMcp:
        return AsyncMcp(self._connection.http, self.mcp_url, lambda: self.headers)

    async def _is_over(self) -> bool:
        try:
            await self.heartbeat()
        except OmicronError:
            return self._over is not None
        return False

    async def _renew(self) -> float | None:
        """Sends the heartbeat that is due. Seconds until the next one; None: the lease is over."""
        if self._over is not None or self._connection.http.is_closed:
            return None
        ttl_seconds = self._options.ttl_seconds
        until_next = self._renewed_at + ttl_seconds / HEARTBEATS_PER_TTL - time.monotonic()
        if self._failures == 0 and until_next > 0:
            return until_next
        try:
            await self.heartbeat()
        except OmicronError as error:
            left = self._renewed_at + ttl_seconds - time.monotonic()
            if left <= 0:
                self._lose(error)
            self._failures += 1
            return None if self._over is not None else min(wait_seconds(error, self._failures - 1), left)
        self._failures = 0
        return ttl_seconds / HEARTBEATS_PER_TTL

    def _lose(self, error: OmicronError) -> None:
        if self._over is not None:
            return
        self._over = error
        if self._options.on_lost is not None:
            self._options.on_lost(error)


class AsyncConnectedBrowser:
    """A leased browser and its tools. At the end of its `async with` block its lease is released."""

    def __init__(self, lease: AsyncLease, mcp: AsyncMcp) -> None:
        self.lease = lease
        self._mcp = mcp
        self._epoch = lease.epoch

    @property
    def tools(self) -> Sequence[Tool]:
        return self._mcp.tools

    @property
    def instructions(self) -> str:
        """How to log in and how to treat web content, for the agent's prompt."""
        return self._mcp.instructions

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, timeout_seconds: float | None = None
    ) -> ToolResult:
        """Calls a tool; one that fails has `is_error`.

        A browser that was hibernated is brought back for the call. Raises OmicronError: why the lease was lost,
        `browser_unreachable`, ... There is no limit of time but the tools' own, unless `timeout_seconds` is given.
        """

        async def called() -> ToolResult:
            return await (await self._current()).call_tool(name, arguments, timeout_seconds)

        async def explained() -> ToolResult:
            # The runner of a session that is known to hibernate may still be there, and break the call.
            await self.lease._restored(self.lease.epoch)
            return await self.lease._explained(called)

        if name == SWITCH_TOOL:
            return await self.lease._switched(explained, arguments or {})
        return await explained()

    async def __aenter__(self) -> AsyncConnectedBrowser:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.lease.release()

    async def _current(self) -> AsyncMcp:
        """Tools of the browser that the lease has now: one that was hibernated comes back at another address."""
        epoch = self.lease.epoch
        if epoch != self._epoch:
            mcp = self.lease._mcp()
            await mcp.connect()
            self._mcp, self._epoch = mcp, epoch
        return self._mcp

    async def _connect(self) -> None:
        await self.lease._explained(self._mcp.connect)
