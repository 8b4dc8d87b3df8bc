"""Credentials and policies, on a real stack."""

from __future__ import annotations

from typing import Any

import pytest

from omicron_browser import BrowserSessions, OmicronError


def test_keeps_credentials_and_shows_their_names_only(sessions: BrowserSessions, user: str) -> None:
    with pytest.raises(OmicronError) as refused:
        sessions.acquire(user, "chat", require_credentials=True)
    assert refused.value.code == "credentials_not_configured"
    sessions.put_credential(user, "bakery", {"username": "ada", "password": "a secret password"})
    listed = sessions.list_credentials(user)
    [bakery] = listed["sites"]
    assert (bakery["site"], bakery["secret_names"]) == ("bakery", ["BAKERY_USERNAME", "BAKERY_PASSWORD"])
    assert bakery["filled_on"] == [] and "store it again with its site" in (bakery["problem"] or "")
    sessions.delete_credential(user, "bakery")
    assert sessions.list_credentials(user) == {"sites": []}


def test_keeps_policies_and_names_the_path_of_an_error(sessions: BrowserSessions, user: str) -> None:
    assert sessions.get_policy(user_id=user) is None
    stored = sessions.put_policy({"version": 1, "sites": {"deny": ["example.com"]}}, user_id=user)
    assert stored["sites"]["deny"] == ["example.com"]
    with sessions.acquire(user, "chat", record_video=False) as lease:
        layers = sessions.get_effective_policy(lease.session_id)["layers"]
        assert "user" in [layer["layer"] for layer in layers]
        lease.end()
    with pytest.raises(OmicronError) as refused:
        sessions.put_policy({"version": 2}, user_id=user)
    assert refused.value.code == "invalid_request"
    assert "version" in refused.value.extra["errors"][0]["path"]
    sessions.delete_policy(user_id=user)
    assert sessions.get_policy(user_id=user) is None
    with pytest.raises(ValueError, match="not both"):
        sessions.get_policy(user_id=user, session_id="s")


def test_brings_a_file_and_reads_it_again(sessions: BrowserSessions, user: str) -> None:
    lease = sessions.acquire(user, "files", record_video=False)
    name = "letter to Löwe.txt"
    put = sessions.put_file(lease.session_id, name, b"Sehr geehrte")
    assert put["source"] == "upload"
    assert [file["name"] for file in sessions.list_files(lease.session_id)] == [name]
    assert sessions.read_file(lease.session_id, name) == b"Sehr geehrte"
    assert sessions.read_file(lease.session_id, name, start=5) == b"geehrte"
    with pytest.raises(OmicronError) as refused:
        sessions.read_file(lease.session_id, "none.txt")
    assert refused.value.code == "file_not_found"
    lease.end()


def test_says_that_an_id_must_be_a_text(sessions: BrowserSessions, user: str) -> None:
    number: Any = 42
    for call in (
        lambda: sessions.acquire(number, "chat"),
        lambda: sessions.list_credentials(number),
        lambda: sessions.acquire(user, number),
    ):
        with pytest.raises(OmicronError, match=r'must be a (str|text) such as "42", not') as refused:
            call()
        assert refused.value.code == "invalid_request"
