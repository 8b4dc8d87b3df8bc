"""The stack that test/python/wheel.ts started, and a page that its browsers may visit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from uuid import uuid4

import pytest

from omicron_browser import BrowserSessions


@pytest.fixture
def url() -> str:
    return os.environ["OMICRON_CONTROLLER_URL"]


@pytest.fixture
def secret() -> str:
    return os.environ["OMICRON_SERVICE_JWT_SECRET"]


@pytest.fixture
def site() -> str:
    return os.environ["TEST_SITE_URL"]


@pytest.fixture
def user() -> str:
    """A user of this test alone."""
    return f"user-{uuid4()}"


@pytest.fixture
def sessions(url: str, secret: str) -> Iterator[BrowserSessions]:
    with BrowserSessions(url, secret) as sessions:
        yield sessions
