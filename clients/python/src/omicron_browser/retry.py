"""When a call is tried again, and how long to wait before that."""

from __future__ import annotations

import random
import ssl

import httpx

from .errors import OmicronError, place_in_line

FIRST_SECONDS = 0.2
MAX_SECONDS = 5.0
#: Spreads callers that were given the same Retry-After, by up to a tenth of it; never earlier.
SPREAD = 0.1

#: A call that the controller held for this long waited there.
HELD_SECONDS = 1.0

#: What httpx raises when the other side closed a connection that was sent a call; a refused connection is no such error.
CLOSED = (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError)


#: While nothing has answered at the controller's address: a wrong one is told from a restart by then.
ABSENT_SECONDS = 3.0


def is_absent(error: OmicronError) -> bool:
    """Nothing listens at the address: the call was never sent."""
    return error.code == "controller_unreachable" and isinstance(error.__cause__, httpx.ConnectError)


def speaks_no_tls(error: BaseException) -> bool:
    """OpenSSL was answered without TLS; httpx hides its error as the cause of others."""
    each: BaseException | None = error
    while each is not None:
        if isinstance(each, ssl.SSLError) and each.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"):
            return True
        each = each.__cause__ or each.__context__
    return False


def may_repeat(method: str, path: str) -> bool:
    """Whether a call may be repeated: get-or-create is the only idempotent POST."""
    return method != "POST" or path.endswith("/get-or-create")


def wait_seconds(error: OmicronError, attempt: int, held_seconds: float = 0.0) -> float:
    """Retry-After, else a growing back-off. `attempt` counts from 0.

    A caller that the controller held in the line, or for its start, goes on at once: while it is away, others get the places.
    """
    if held_seconds >= HELD_SECONDS and (error.code == "lease_starting" or place_in_line(error) is not None):
        return 0.0
    if error.retry_after_seconds is not None:
        return error.retry_after_seconds * (1 + SPREAD * random.random())
    seconds = min(MAX_SECONDS, FIRST_SECONDS * 2.0 ** min(attempt, 10))
    return seconds * (1 + SPREAD * random.random())
