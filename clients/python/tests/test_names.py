"""The names of the TypeScript SDK, in snake case."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import get_type_hints

from omicron_browser import (
    AsyncBrowserSessions,
    AsyncConnectedBrowser,
    AsyncLease,
    BrowserSessions,
    ConnectedBrowser,
    Lease,
    wire,
)

CLIENT = Path(__file__).parents[3] / "client"


def snake(name: str) -> str:
    return re.sub("[A-Z]", lambda each: f"_{each[0].lower()}", name)


def methods(cls: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(cls, inspect.isfunction) if not name.startswith("_")}


def methods_in_typescript(file: str) -> set[str]:
    found = re.findall(r"^  (?:async )?([a-z]\w+)(?:<.*>)?\(", (CLIENT / file).read_text(), re.MULTILINE)
    return {snake(name) for name in found} - {"constructor"}


def test_sessions_and_leases_have_the_methods_of_the_typescript_sdk() -> None:
    assert methods(BrowserSessions) == methods_in_typescript("browser-sessions.ts") | {"close"}
    # A call brings its browser back, and a switch of profiles is followed, by itself: in TypeScript the connection,
    # a file of its own, asks the lease for both.
    assert methods(Lease) == methods_in_typescript("lease.ts") - {"restore", "follow_switch"}


def test_both_kinds_of_clients_have_the_same_methods_and_parameters() -> None:
    for asynchronous, synchronous in (
        (AsyncBrowserSessions, BrowserSessions),
        (AsyncLease, Lease),
        (AsyncConnectedBrowser, ConnectedBrowser),
    ):
        assert methods(asynchronous) - {"aclose"} == methods(synchronous) - {"close"}
        for name in methods(synchronous) - {"close"}:
            parameters = inspect.signature(getattr(synchronous, name)).parameters
            assert list(inspect.signature(getattr(asynchronous, name)).parameters) == list(parameters)


def test_acquire_takes_every_field_of_the_request() -> None:
    fields = set(inspect.signature(BrowserSessions.acquire).parameters) - {"self", "on_lost", "on_waiting"}
    assert fields == set(wire.GetOrCreateRequest.__annotations__)
    assert set(inspect.signature(BrowserSessions.connect).parameters) - {"self", "on_lost", "on_waiting"} == fields
    wanted = choices(wire.GetOrCreateRequest)
    assert {"toolset", "snapshot", "profile_mode"} <= wanted.keys()
    assert wanted == {name: each for name, each in choices(BrowserSessions.acquire).items() if name in fields}


def choices(typed: Callable[..., object]) -> dict[str, set[str]]:
    """The values of each field or parameter that has some to choose from."""
    hints = {name: repr(hint) for name, hint in get_type_hints(typed).items()}
    return {name: set(re.findall(r"'([\w-]+)'", hint)) for name, hint in hints.items() if "Literal[" in hint}
