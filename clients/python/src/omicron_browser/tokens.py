"""Service tokens."""

from __future__ import annotations

import time

import jwt

AUDIENCE = "browser-session-controller"
TOKEN_SECONDS = 60
#: HS256 keys have at least 256 bits: https://www.rfc-editor.org/rfc/rfc7518#section-3.2
SECRET_BYTES_MIN = 32


def service_key(secret: str) -> bytes:
    """Raises ValueError for a secret that is too short."""
    key = secret.encode()
    if len(key) < SECRET_BYTES_MIN:
        raise ValueError(f"the service secret must have at least {SECRET_BYTES_MIN} bytes")
    return key


def sign_service_token(key: bytes, user_id: str | None) -> str:
    """A token of 60 s; with `user_id` it is valid for that user only."""
    now = int(time.time())
    claims: dict[str, object] = {"aud": AUDIENCE, "iat": now, "exp": now + TOKEN_SECONDS}
    if user_id is not None:
        claims["user_id"] = user_id
    return jwt.encode(claims, key, algorithm="HS256")
