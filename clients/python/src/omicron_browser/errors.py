"""The one error class of this package."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast, get_args, get_type_hints

from .wire import Problem

#: Every code that a server answers; `lease_released` and `not_configured` are this package's own.
CODES = frozenset(cast("tuple[str, ...]", get_args(get_type_hints(Problem)["code"])))
EXTRA = ("session_id", "limit", "active", "position", "expected_wait_seconds", "errors")

UNPROCESSABLE = 422
TOO_MANY_REQUESTS = 429
SERVER_ERROR = 500
UNAVAILABLE = 503


class OmicronError(Exception):
    """A stable `code`, and a message that says what to do.

    `retry_after_seconds` says when the same call may succeed. `extra` may hold `limit`, `active`, `position`,
    `expected_wait_seconds`, `session_id` and `errors`.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int = UNAVAILABLE,
        retry_after_seconds: float | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        self.retry_after_seconds = retry_after_seconds
        self.extra: Mapping[str, Any] = dict(extra or {})

    def __reduce__(self) -> tuple[Any, ...]:
        """Workers of other processes hand their errors over: an exception is made again of its `args`, the message alone."""
        return type(self), (self.code, self.message), self.__dict__

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"

    @property
    def may_retry(self) -> bool:
        """Whether the same call may succeed later: a 429 or 503, except that a missing sandbox stays missing."""
        return self.status in (TOO_MANY_REQUESTS, UNAVAILABLE) and self.code != "sandbox_runtime_required"


@dataclass(frozen=True)
class PlaceInLine:
    """Place of a caller that waits for a browser to come free."""

    #: Place in the line, from 1.
    position: int
    #: By the browsers that came free in the last minute.
    expected_wait_seconds: float | None = None


def place_in_line(error: OmicronError) -> PlaceInLine | None:
    """None: the refused caller is in no line."""
    position = error.extra.get("position")
    return None if position is None else PlaceInLine(position, error.extra.get("expected_wait_seconds"))


def lease_ended() -> OmicronError:
    return OmicronError("lease_ended", "The lease was ended; acquire a new one.", status=409)


def lease_released() -> OmicronError:
    return OmicronError("lease_released", "The lease was released; acquire it again.", status=409)


def problem_in(text: str) -> Mapping[str, Any] | None:
    """The RFC 9457 document of an answer's text; None: it is something else."""
    try:
        problem = json.loads(text)
    except ValueError:
        return None
    if not isinstance(problem, dict) or not isinstance(problem.get("code"), str):
        return None
    return problem if isinstance(problem.get("detail"), str) and isinstance(problem.get("status"), int) else None


def error_of(problem: Mapping[str, Any], *, unknown: str, retry_after_seconds: float | None = None) -> OmicronError:
    """The error that a problem document describes; `unknown` is the code for one that this version does not know."""
    code, detail = problem["code"], problem["detail"]
    known = code in CODES
    return OmicronError(
        code if known else unknown,
        detail if known else f"{code}: {detail}",
        status=problem["status"],
        retry_after_seconds=problem.get("retry_after_seconds", retry_after_seconds),
        extra={name: problem[name] for name in EXTRA if name in problem},
    )
