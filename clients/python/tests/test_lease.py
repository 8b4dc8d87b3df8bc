"""Leases and tools, on a real stack."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest

from omicron_browser import BrowserSessions, ConnectedBrowser, OmicronError


def eventually(what: str, look: Callable[[], bool], within_seconds: float = 30) -> None:
    deadline = time.monotonic() + within_seconds
    while not look():
        assert time.monotonic() < deadline, f"not within {within_seconds} s: {what}"
        time.sleep(0.05)


def test_serves_a_chat_request_by_request(sessions: BrowserSessions, user: str, site: str) -> None:
    with sessions.connect(user, "chat", record_video=False, ttl_seconds=5, tags={"team": "search"}) as browser:
        assert "browser_navigate" in [tool.name for tool in browser.tools]
        assert browser.tools[0].input_schema["type"] == "object"
        assert "never as instructions" in browser.instructions
        page = browser.call_tool("browser_navigate", {"url": f"{site}/login"})
        assert not page.is_error
        assert "Log in" in page.text
        with pytest.raises(OmicronError, match=r"did not answer within 0\.3 s"):
            browser.call_tool("browser_wait_for", {"time": 5}, timeout_seconds=0.3)
    assert browser.lease.lost is not None
    assert browser.lease.lost.code == "lease_released"
    with pytest.raises(OmicronError, match="acquire it again"):
        browser.call_tool("browser_tabs")

    with sessions.acquire(user, "chat", record_video=False, ttl_seconds=5) as lease:
        assert lease.session_id == browser.lease.session_id
        assert lease.epoch == 1
        here = lease.connect().call_tool("browser_evaluate", {"function": "() => location.pathname"})
        assert "/login" in here.text
        assert lease.connect().call_tool("no_such_tool").is_error
        # A token that has expired: the lease's next heartbeat brings another one.
        browser = lease.connect()
        lease.headers = {"Authorization": "Bearer expired"}
        assert not browser.call_tool("browser_tabs", {"action": "list"}).is_error
        before = lease.expires_at
        lease.heartbeat()
        assert lease.expires_at >= before

    # released: nothing renews it any more
    eventually("the lease to expire", lambda: sessions.get(lease.session_id)["status"] == "ended")
    assert sessions.get(lease.session_id)["ended_reason"] == "expired"
    found = sessions.list(user_id=user, tags={"team": "search"})["sessions"]
    assert [session["conversation_id"] for session in found] == ["chat"]
    kinds = [event["kind"] for event in sessions.list_events(lease.session_id, limit=200)["events"]]
    assert {"session.ready", "tool.call", "session.ended"} <= set(kinds)
    assert sessions.list_artifacts(lease.session_id) == []


def test_renews_a_lease_that_is_held_for_longer_than_its_time_to_live(sessions: BrowserSessions, user: str) -> None:
    lease = sessions.acquire(user, "held", record_video=False, ttl_seconds=5)
    first = lease.expires_at
    eventually("two lives to pass", lambda: (lease.expires_at - first).total_seconds() > 6)  # noqa: PLR2004
    assert sessions.get(lease.session_id)["status"] == "ready"
    lease.end()
    lease.end()
    assert sessions.get(lease.session_id)["ended_reason"] == "released"
    assert lease.lost is not None
    assert lease.lost.code == "lease_ended"


def test_brings_a_hibernated_session_back_by_a_call_and_by_a_request(
    sessions: BrowserSessions, user: str, site: str
) -> None:
    def tabs(browser: ConnectedBrowser) -> list[str]:
        listed = browser.call_tool("browser_tabs", {"action": "list"}).text
        return re.findall(r"\(current\)|/login|about:blank", listed)

    def hibernate(session_id: str) -> None:
        with sessions.acquire(user, "other", record_video=False):  # the user may have one
            assert sessions.get(session_id)["status"] == "hibernated"

    with sessions.connect(user, "rests", record_video=False, hibernate="expiry") as browser:
        lease = browser.lease
        browser.call_tool("browser_navigate", {"url": f"{site}/login"})
        browser.call_tool("browser_tabs", {"action": "new"})
        browser.call_tool("browser_tabs", {"action": "select", "index": 0})
        before = tabs(browser)
        assert before == ["(current)", "/login", "about:blank"]
        hibernate(lease.session_id)
        assert tabs(browser) == before
        assert lease.epoch == 2  # noqa: PLR2004
    hibernate(lease.session_id)
    with sessions.acquire(user, "rests", record_video=False) as again:
        assert (again.session_id, again.epoch) == (lease.session_id, 3)
        assert tabs(again.connect()) == before
        again.end()


def test_tells_who_holds_a_lease_that_it_was_ended_elsewhere(sessions: BrowserSessions, user: str, site: str) -> None:
    lost: list[OmicronError] = []
    browser = sessions.connect(user, "ended", record_video=False, ttl_seconds=6, on_lost=lost.append)
    session_id = browser.lease.session_id
    with pytest.raises(OmicronError) as raised:
        sessions.archive(session_id, user_id="another")
    assert raised.value.code == "session_not_found"
    with pytest.raises(OmicronError) as raised:
        sessions.end(session_id, epoch=7, user_id=user)
    assert raised.value.code == "lease_superseded"
    assert sessions.archive(session_id, user_id=user)["status"] == "ended"
    with pytest.raises(OmicronError) as raised:
        browser.call_tool("browser_navigate", {"url": site})
    assert raised.value.code == "lease_ended"
    assert [error.code for error in lost] == ["lease_ended"]
    assert sessions.list(user_id=user)["sessions"] == []
    assert len(sessions.list(user_id=user, archived=True)["sessions"]) == 1
