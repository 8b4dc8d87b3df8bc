"""Checks the controller's address and the secret before the first call."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from .errors import UNPROCESSABLE, OmicronError

#: The variables that usually hold the two settings, by which errors name them.
URL_VARIABLE = "OMICRON_CONTROLLER_URL"
SECRET_VARIABLE = "OMICRON_SERVICE_JWT_SECRET"
#: HS256 keys have at least 256 bits: https://www.rfc-editor.org/rfc/rfc7518#section-3.2
SECRET_BYTES_MIN = 32


def controller_url(url: object) -> str:
    """The address without a slash at its end; `url` may come from an environment where it is not set."""
    if not isinstance(url, str) or not url.strip():
        raise not_configured(
            f"The controller's address (url) is not set: set {URL_VARIABLE}, for example to http://127.0.0.1:8080."
        )
    try:
        usable = urlsplit(url).scheme in ("http", "https") and bool(urlsplit(url).hostname)
    except ValueError:
        usable = False
    if usable:
        return url.rstrip("/")
    shown = re.sub("[^/@]*@", "", url)  # a password may stand before the @
    if "://" in url:
        raise not_configured(f'The controller\'s address "{shown}" ({URL_VARIABLE}) is no http or https URL.')
    raise not_configured(
        f'The controller\'s address "{shown}" ({URL_VARIABLE}) has no scheme: write http://{shown}, or https://{shown}'
        " where it is behind TLS."
    )


def service_key(secret: object) -> bytes:
    """The key of the service secret; `secret` may come from an environment where it is not set."""
    if not isinstance(secret, str) or not secret:
        raise not_configured(
            f"The service secret (service_secret) is not set: set {SECRET_VARIABLE} to the controller's own value."
        )
    key = secret.encode()
    if len(key) < SECRET_BYTES_MIN:
        raise not_configured(
            f"The service secret ({SECRET_VARIABLE}) has {len(key)} bytes and must have at least {SECRET_BYTES_MIN} bytes:"
            " use the controller's own value."
        )
    return key


def not_configured(message: str) -> OmicronError:
    return OmicronError("not_configured", message, status=UNPROCESSABLE)
