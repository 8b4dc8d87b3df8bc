"""Reads the answers of the controller, and makes its paths."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from urllib.parse import quote

import httpx
from typing_extensions import NotRequired, get_type_hints

from .errors import SERVER_ERROR, TOO_MANY_REQUESTS, OmicronError, error_of, problem_in
from .settings import not_configured
from .tokens import not_text

SESSIONS = "/internal/browser-sessions"


def required_keys(document: type) -> frozenset[str]:
    """The keys that a TypedDict has always. Its own `__required_keys__` has all where annotations are text, as in `wire`."""
    hints = get_type_hints(document, include_extras=True)
    return frozenset(name for name, hint in hints.items() if getattr(hint, "__origin__", None) is not NotRequired)


def segment(text: str) -> str:
    """One segment of a path. Raises `invalid_request` for what no URL can hold as one: `users/../policy` is `policy`."""
    if not isinstance(text, str):
        raise not_text("An id", text)
    if text not in ("", ".", ".."):
        try:
            return quote(text, safe="")
        except UnicodeEncodeError:
            pass  # half of a surrogate pair
    raise OmicronError(
        "invalid_request",
        f'{text!a} is no id and no name: give well-formed text that is neither empty nor "." nor "..".',
        status=400,
    )


def tag_pairs(tags: Mapping[str, str] | None) -> list[str]:
    """Tags as a query has them."""
    return [f"{key}:{value}" for key, value in (tags or {}).items()]


def session_path(session_id: str) -> str:
    return f"{SESSIONS}/{segment(session_id)}"


def files_path(session_id: str) -> str:
    return f"{session_path(session_id)}/files"


def credentials_path(user_id: str) -> str:
    return f"/internal/users/{segment(user_id)}/credentials"


def profiles_path(user_id: str) -> str:
    return f"/internal/users/{segment(user_id)}/profiles"


def profile_path(user_id: str, name: str) -> str:
    return f"{profiles_path(user_id)}/{segment(name)}"


def policy_path(session_id: str | None, user_id: str | None) -> str:
    """Path of the policy of a session, of a user, or of the deployment. Raises ValueError when both are given."""
    if session_id is not None and user_id is not None:
        raise ValueError("a policy is a session's or a user's: give session_id or user_id, not both")
    if session_id is not None:
        return f"{session_path(session_id)}/policy"
    return "/internal/policy" if user_id is None else f"/internal/users/{segment(user_id)}/policy"


def unreachable(url: str, why: str) -> OmicronError:
    return OmicronError("controller_unreachable", f"The controller at {url} {why}; check that it runs there.")


def no_tls(url: str) -> OmicronError:
    """Repeating the call changes nothing, so that this is no outage."""
    plain = url.replace("https:", "http:")
    return not_configured(f"The controller at {url} answers without TLS: write {plain}, or put TLS in front of it.")


def value_of(response: httpx.Response, url: str) -> object:
    """The document of an answer; None: it has none. Raises OmicronError for every status but 2xx."""
    if not response.is_success:
        raise refusal(response, url)
    try:
        return response.json() if response.content else None
    except ValueError as error:
        raise not_understood(url) from error


def not_understood(url: str) -> OmicronError:
    return OmicronError(
        "internal_error",
        f"The answer of {url} was not understood; check the URL, and that both sides have the same version.",
        status=SERVER_ERROR,
    )


def refusal(response: httpx.Response, url: str) -> OmicronError:
    status = response.status_code
    away = status == TOO_MANY_REQUESTS or status >= SERVER_ERROR
    code = "controller_unreachable" if away else "internal_error"
    seconds = retry_after(response)
    problem = problem_in(response.text)
    if problem is not None:
        return error_of(problem, unknown=code, retry_after_seconds=seconds)
    message = f"{url} answered {status} without a problem document; check that this is the URL of the controller."
    return OmicronError(code, message, status=503 if away else SERVER_ERROR, retry_after_seconds=seconds)


def retry_after(response: httpx.Response) -> float | None:
    """Retry-After in seconds; the date form is a proxy's: https://www.rfc-editor.org/rfc/rfc9110#field.retry-after"""
    text = response.headers.get("retry-after")
    if text is None:
        return None
    if text.isdigit():
        return float(text)
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, (at - datetime.now(timezone.utc)).total_seconds())


def instant(text: str) -> datetime:
    """A time of the API; Python 3.10 reads no `Z`."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
