"""The asynchronous client, on a real stack."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import pytest

from omicron_browser import AsyncBrowserSessions, OmicronError


def test_serves_a_chat_and_renews_beside_it(url: str, secret: str, user: str, site: str) -> None:
    async def main() -> None:
        async with AsyncBrowserSessions(url, secret) as sessions:
            tasks = asyncio.all_tasks()
            async with await sessions.connect(user, "chat", record_video=False, ttl_seconds=5) as browser:
                first = browser.lease.expires_at
                page = await browser.call_tool("browser_navigate", {"url": f"{site}/login"})
                assert "Log in" in page.text
                while (browser.lease.expires_at - first).total_seconds() < 1:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            assert asyncio.all_tasks() == tasks  # the renewal has ended with the block
            async with await sessions.acquire(user, "chat", record_video=False) as lease:
                assert (lease.session_id, lease.epoch) == (browser.lease.session_id, 1)
            with pytest.raises(OmicronError, match="No stored artifact"):
                await sessions.create_artifact_url(lease.session_id, str(uuid4()), ttl_seconds=30)
            await lease.end()
            with pytest.raises(OmicronError) as raised:
                await lease.heartbeat()
            assert raised.value.code == "lease_released"
            assert (await sessions.get(lease.session_id))["ended_reason"] == "released"

    asyncio.run(asyncio.wait_for(main(), 60))


def test_answers_what_an_agent_asks_of_its_user(url: str, secret: str, user: str) -> None:
    async def main() -> None:
        async with AsyncBrowserSessions(url, secret) as sessions:
            browser = await sessions.connect(user, "asks", record_video=False)
            session_id = browser.lease.session_id
            asking = asyncio.create_task(browser.call_tool("browser_request_user_action", {"reason": "Type the code."}))
            while not (actions := await sessions.list_user_actions(session_id)):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            [action] = actions
            assert (action["reason"], action["status"]) == ("Type the code.", "pending")
            pending = await sessions.list_pending_user_actions()
            assert [each["user_id"] for each in pending if each["id"] == action["id"]] == [user]
            live = await sessions.create_live_token(session_id, role="control", user_id=user)
            assert (live["role"], live["epoch"]) == ("control", browser.lease.epoch)
            await sessions.answer_user_action(
                session_id, action["id"], {"status": "done", "note": "typed"}, user_id=user
            )
            result = await asking
            assert "typed" in result.text
            await browser.lease.end()

    asyncio.run(asyncio.wait_for(main(), 60))


def test_a_cancelled_request_releases_its_lease(url: str, secret: str, user: str) -> None:
    async def main() -> None:
        async with AsyncBrowserSessions(url, secret) as sessions:
            held = asyncio.Event()

            async def request() -> None:
                async with await sessions.acquire(user, "left", record_video=False):
                    held.set()
                    await asyncio.sleep(60)

            tasks = asyncio.all_tasks()
            task = asyncio.create_task(request())
            await held.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert asyncio.all_tasks() == tasks
            [session] = (await sessions.list(user_id=user))["sessions"]
            assert session["status"] == "ready"
            await sessions.end(session["session_id"])

    asyncio.run(asyncio.wait_for(main(), 60))


def test_follows_events_of_all_sessions_and_resumes(url: str, secret: str, user: str) -> None:
    async def main() -> None:
        async with AsyncBrowserSessions(url, secret) as sessions:
            lease = await sessions.acquire(user, "events", record_video=False)
            kinds = ["session.claimed", "session.ready", "session.ended"]
            events = sessions.follow_events(user_id=user, kinds=kinds, after="start")
            claimed = await anext(events)
            assert (claimed["kind"], claimed["session_id"]) == ("session.claimed", lease.session_id)
            assert (await anext(events))["kind"] == "session.ready"
            await lease.end()
            assert (await anext(events))["kind"] == "session.ended"
            resumed = sessions.follow_events(session_id=lease.session_id, kinds=kinds, after=claimed["id"])
            assert (await anext(resumed))["kind"] == "session.ready"
            with pytest.raises(OmicronError) as raised:
                await anext(sessions.follow_events(after="yesterday"))
            assert raised.value.code == "invalid_request"

    asyncio.run(asyncio.wait_for(main(), 60))
