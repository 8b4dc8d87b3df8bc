"""Profiles, on a real stack."""

from __future__ import annotations

import pytest

from omicron_browser import BrowserSessions, OmicronError


def state_of(value: str) -> dict[str, object]:
    login = {"name": "session", "value": value, "domain": "shop.example", "path": "/", "expires": -1}
    return {"cookies": [{**login, "httpOnly": True, "secure": True, "sameSite": "Lax"}], "origins": []}


def test_keeps_a_profile_from_one_lease_to_the_next(sessions: BrowserSessions, user: str, site: str) -> None:
    visit = {"url": f"{site}/login"}
    with sessions.connect(user, "one", record_video=False, profile="work") as browser:
        browser.call_tool("browser_navigate", visit)
        browser.call_tool("browser_evaluate", {"function": "() => localStorage.setItem('visited', 'before')"})
        assert sessions.save_profile(user, "work") == 1
        with pytest.raises(OmicronError) as refused:
            sessions.delete_profile(user, "work")
        assert refused.value.code == "profile_in_use"
    sessions.end(browser.lease.session_id)
    lease = sessions.set_profile(user, "two", "work", profile_mode="read-only")
    page = lease.connect()
    page.call_tool("browser_navigate", visit)
    seen = page.call_tool("browser_evaluate", {"function": "() => localStorage.getItem('visited')"})
    assert "before" in seen.text
    lease.end()


def test_writes_versions_goes_back_to_one_and_deletes_them(sessions: BrowserSessions, user: str) -> None:
    versions = [sessions.import_profile(user, "shop", state_of(value)) for value in ("first", "second")]
    assert versions == [1, 2]
    (listed,) = sessions.list_profiles(user)
    assert (listed["name"], listed["version"]) == ("shop", 2)
    assert listed["domains"] == [{"domain": "shop.example", "expires_at": None, "logged_in": True}]
    assert [version["version"] for version in sessions.get_profile(user, "shop")["versions"]] == [2, 1]
    restored = sessions.restore_profile(user, "shop", 1)
    assert sessions.get_profile(user, "shop")["version"] == restored
    assert sessions.export_profile(user, "shop")["cookies"][0]["value"] == "first"
    sessions.delete_profile(user, "shop")
    assert sessions.list_profiles(user) == []
    with pytest.raises(OmicronError) as refused:
        sessions.get_profile(user, "shop")
    assert refused.value.code == "profile_not_found"
