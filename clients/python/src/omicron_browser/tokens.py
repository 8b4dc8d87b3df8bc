"""Service tokens."""

from __future__ import annotations

import time

import jwt

from .errors import OmicronError

AUDIENCE = "browser-session-controller"
TOKEN_SECONDS = 60


def not_text(what: str, given: object) -> OmicronError:
    """An id that a database has as a number, for example."""
    detail = f'{what} must be a str such as "42", not {type(given).__name__}.'
    return OmicronError("invalid_request", detail, status=400)


def sign_service_token(key: bytes, user_id: str | None) -> str:
    """A token of 60 s; with `user_id` it is valid for that user only."""
    if user_id is not None and not isinstance(user_id, str):
        raise not_text("user_id", user_id)
    now = int(time.time())
    claims: dict[str, object] = {"aud": AUDIENCE, "iat": now, "exp": now + TOKEN_SECONDS}
    if user_id is not None:
        claims["user_id"] = user_id
    return jwt.encode(claims, key, algorithm="HS256")
