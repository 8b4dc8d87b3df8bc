"""Service tokens."""

from __future__ import annotations

import time

import jwt

AUDIENCE = "browser-session-controller"
TOKEN_SECONDS = 60


def sign_service_token(key: bytes, user_id: str | None) -> str:
    """A token of 60 s; with `user_id` it is valid for that user only."""
    now = int(time.time())
    claims: dict[str, object] = {"aud": AUDIENCE, "iat": now, "exp": now + TOKEN_SECONDS}
    if user_id is not None:
        claims["user_id"] = user_id
    return jwt.encode(claims, key, algorithm="HS256")
